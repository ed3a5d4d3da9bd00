import type { Stripe } from 'stripe';
import * as z from 'zod';
import type { Clock } from '../../app/ports/world.ts';
import { AmbiguousError, RetryableError } from '../../core/faults.ts';
import { statusFault } from './sandbox-answers.ts';

/** A page of a hundred charges with all that is asked of them has far less. Bytes. */
const MAX_ANSWER_BYTES = 4 * 1_024 * 1_024;

/** The connection was never made, so nothing was sent. (Node: "Common system errors"; undici: "Errors".) */
const BEFORE_SENDING = new Set(['connect', 'getaddrinfo']);
const CONNECT_TIMEOUT = 'UND_ERR_CONNECT_TIMEOUT';

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
      const answer = await fetchOnce(
        `${baseUrl}${path}`,
        { method, headers: fieldsOf(headers), ...(method === 'POST' ? { body } : {}) },
        timeoutMs,
      );
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

interface WholeAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** @throws RetryableError when no connection was made, AmbiguousError when it broke, took too long or was too large */
async function fetchOnce(url: string, request: RequestInit, timeoutMs: number): Promise<WholeAnswer> {
  try {
    const response = await fetch(url, { ...request, redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) });
    return { status: response.status, headers: response.headers, text: await readBounded(response) };
  } catch (error) {
    throw connectionFault(error);
  }
}

async function readBounded(response: Response): Promise<string> {
  if (response.body === null) return '';
  const body: AsyncIterable<Uint8Array> = response.body;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop early cancels the stream, which closes the connection.
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > MAX_ANSWER_BYTES) {
      throw new AmbiguousError('processor_answer_too_large', `The answer is longer than ${MAX_ANSWER_BYTES} bytes.`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** No cause: it may quote the request. */
function connectionFault(error: unknown): Error {
  if (error instanceof AmbiguousError) return error;
  if (error instanceof DOMException && error.name === 'TimeoutError') {
    return new AmbiguousError('processor_timeout', 'Stripe did not answer in time.');
  }
  if (isBeforeSending(failedFetch.safeParse(error).data?.cause)) {
    return new RetryableError('processor_unreachable', 'Stripe cannot be reached.');
  }
  return new AmbiguousError('processor_connection_lost', 'The connection broke before the answer was complete.');
}

const failedFetch = z.object({ cause: z.unknown() });
const systemError = z.object({ syscall: z.string().optional(), code: z.string().optional() });
/** A name with several addresses, each of which was tried. */
const severalErrors = z.object({ errors: z.array(z.unknown()).min(1) });

function isBeforeSending(cause: unknown): boolean {
  const several = severalErrors.safeParse(cause);
  if (several.success) return several.data.errors.every(isBeforeSending);
  const { syscall, code } = systemError.safeParse(cause).data ?? {};
  return code === CONNECT_TIMEOUT || (syscall !== undefined && BEFORE_SENDING.has(syscall));
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

function readJson(answer: WholeAnswer, nowMs: number): unknown {
  const { status, headers, text } = answer;
  const read = (status === 200 ? readableAnswer : readableError).safeParse(parseJson(text));
  if (read.success) return read.data;
  if (!WITH_BODY.has(status)) {
    throw faultOfStatus(status, headers.get('retry-after'), nowMs);
  }
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
  return statusFault({ status, retryAfter, header: () => null, text: '' }, nowMs);
}
