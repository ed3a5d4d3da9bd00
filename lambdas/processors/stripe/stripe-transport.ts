import type { Stripe } from 'stripe';
import * as z from 'zod';
import { AmbiguousError } from '../../kernel/faults.ts';
import type { Clock } from '../../kernel/world.ts';
import { callOnce, type HttpAnswer } from '../../outbound/http-call.ts';
import { statusFault } from '../answers.ts';

/** A page of a hundred charges with all that is asked of them has far less. Bytes. */
const MAX_ANSWER_BYTES = 4 * 1_024 * 1_024;

/**
 * How the Stripe package's requests travel. Its own client sends a second time when the connection broke, even with its
 * retries off, counts a timeout anew with every byte, and takes whatever is not an error for success. This one makes each
 * request once, within one limit for the whole of it, follows no redirect, and lets only what Stripe itself may have said
 * reach the package: a JSON object with 200, or a readable error. For everything else it throws the fault, which the
 * package hands on as the detail of a `StripeConnectionError`.
 *
 * @param baseUrl without a trailing slash; stands in for the package's own host, port and protocol
 */
export function stripeTransport(baseUrl: string, clock: Pick<Clock, 'nowMs'>): Stripe.HttpClient {
  return {
    getClientName: () => 'fetch',
    makeRequest: async (_host, _port, path, method, headers, body, _protocol, timeoutMs) => {
      const answer = await callOnce({
        method,
        url: `${baseUrl}${path}`,
        headers: fieldsOf(headers),
        ...(method === 'POST' ? { body } : {}),
        timeoutMs,
        maxAnswerBytes: MAX_ANSWER_BYTES,
        // The request carries the account's key.
        causes: 'dropped',
      });
      const said = readJson(answer, clock.nowMs());
      return {
        getStatusCode: () => answer.status,
        getHeaders: () => Object.fromEntries(answer.headers),
        getRawResponse: () => ({}),
        toStream: () => {
          throw new Error('nothing that is asked of Stripe is streamed');
        },
        toJSON: async () => said,
      };
    },
  };
}

/** Unknown fields are passed over. */
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

/** They decide something by what they say; every other status says enough by itself. */
const WITH_BODY: ReadonlySet<number> = new Set([200, 400, 402, 404, 422]);

function readJson(answer: HttpAnswer, nowMs: number): unknown {
  const { status, text } = answer;
  const read = (status === 200 ? readableAnswer : readableError).safeParse(parseJson(text));
  if (read.success) return read.data;
  if (!WITH_BODY.has(status)) throw statusFault(answer, nowMs);
  throw new AmbiguousError('processor_answer_unreadable', `The answer ${status} cannot be read.`);
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

/** What a status that no reader of answers expects says about the call. */
export function faultOfStatus(status: number, retryAfter: string | null, nowMs: number): Error {
  return statusFault({ status, retryAfter, headers: new Headers(), text: '' }, nowMs);
}
