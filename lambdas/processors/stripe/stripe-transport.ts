import type { Stripe } from 'stripe';
import * as z from 'zod';
import { AmbiguousError } from '../../kernel/faults.ts';
import type { Mode } from '../../kernel/ids.ts';
import type { Clock } from '../../kernel/world.ts';
import { callOnce, type HttpAnswer, type SendRequest } from '../../outbound/http-call.ts';
import { mismatch, statusFault } from '../answers.ts';

/** A page of a hundred charges with all expanded objects is far smaller. */
const MAX_ANSWER_BYTES = 4 * 1_024 * 1_024;

export interface StripeTransportOptions {
  /** Base URL without a trailing slash. It replaces the package's protocol, host and port. */
  readonly baseUrl: string;
  /** The expected mode of every object in a response. */
  readonly mode: Mode;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** @default `callOnce`, over HTTP */
  readonly send?: SendRequest;
}

/**
 * Creates the HTTP client for the Stripe package. The package's default client retries after a broken connection even
 * if retries are disabled, restarts its timeout with every received byte, and treats every response without an error as
 * a success. This client sends each request once, with one time limit for the whole request, and follows no redirect.
 * It accepts only responses that Stripe can have sent: a JSON object with status 200, or a readable error. Any other
 * response is a fault, and so is a response that contains an object of the other mode. The package returns the fault as
 * the detail of a `StripeConnectionError`.
 */
export function stripeTransport({ baseUrl, mode, clock, send = callOnce }: StripeTransportOptions): Stripe.HttpClient {
  return {
    getClientName: () => 'fetch',
    makeRequest: async (_host, _port, path, method, headers, body, _protocol, timeoutMs) => {
      const answer = await send({
        method,
        url: `${baseUrl}${path}`,
        headers: fieldsOf(headers),
        ...(method === 'POST' ? { body } : {}),
        timeoutMs,
        maxAnswerBytes: MAX_ANSWER_BYTES,
        // The causes of errors are dropped, because they can contain the request, and thus the account's API key.
        causes: 'dropped',
      });
      const answerBody = readJson(answer, clock.nowMs());
      refuseOtherMode(answerBody, mode);
      return {
        getStatusCode: () => answer.status,
        getHeaders: () => Object.fromEntries(answer.headers),
        getRawResponse: () => ({}),
        toStream: () => {
          throw new Error('a streamed response was requested from Stripe');
        },
        toJSON: async () => answerBody,
      };
    },
  };
}

const readableError = z.looseObject({
  error: z.looseObject({
    type: z.string().min(1),
    code: z.string().nullish(),
    decline_code: z.string().nullish(),
    message: z.string().nullish(),
    payment_intent: z.looseObject({ id: z.string().min(1) }).nullish(),
  }),
});
const readableAnswer = z.looseObject({ object: z.string(), error: z.undefined().optional() });

/** Statuses whose meaning depends on the body. */
const WITH_BODY: ReadonlySet<number> = new Set([200, 400, 402, 404, 422]);

function readJson(answer: HttpAnswer, nowMs: number): unknown {
  const { status, text } = answer;
  const read = (status === 200 ? readableAnswer : readableError).safeParse(parseJson(text));
  if (read.success) return read.data;
  if (!WITH_BODY.has(status)) throw statusFault(answer, nowMs);
  throw new AmbiguousError(
    'processor_answer_unreadable',
    `The body of the response with status ${status} cannot be read.`,
  );
}

function refuseOtherMode(answerBody: unknown, mode: Mode): void {
  const waiting = [answerBody];
  // The loop terminates, because a response has a limited size and JSON has no cycles.
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    // Stripe's own `livemode` is a boolean; a `livemode` in metadata is a string.
    if ('livemode' in value && value.livemode === (mode === 'test')) {
      throw mismatch(`The response contains an object that is not in ${mode} mode.`);
    }
    // No value in the response can end the loop early, because JSON has no `undefined`.
    waiting.push(...Object.values<unknown>({ ...value }));
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function fieldsOf(headers: object): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}

export function faultOfStatus(status: number, retryAfter: string | null, nowMs: number): Error {
  return statusFault({ status, retryAfter, headers: new Headers(), text: '' }, nowMs);
}
