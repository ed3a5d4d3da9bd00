import * as z from 'zod';
import { defined } from '../kernel/defined.ts';
import { AmbiguousError, RetryableError, TerminalError } from '../kernel/faults.ts';

export interface HttpCall {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Time limit of the whole call, including the last byte of the response, in milliseconds. */
  readonly timeoutMs: number;
  /** The prefix of the faults' codes. @default processor */
  readonly party?: string;
  /**
   * Maximum size of a response, in bytes. A longer response causes the fault `<party>_answer_too_large`.
   * @default 64 KiB, far more than a response about one charge
   */
  readonly maxAnswerBytes?: number;
  /**
   * Whether faults keep their cause. `dropped` keeps at most the code of the cause, because the cause may contain the
   * request.
   * @default 'kept'
   */
  readonly causes?: 'kept' | 'dropped';
}

export interface HttpAnswer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly headers: Headers;
  readonly text: string;
}

const DEFAULT_ANSWER_BYTES = 64 * 1_024;

/**
 * System calls whose failure proves that no connection existed, so nothing was sent (Node.js, "Common system errors";
 * undici, "Errors").
 */
const BEFORE_SENDING = new Set(['connect', 'getaddrinfo']);
const CONNECT_TIMEOUT = 'UND_ERR_CONNECT_TIMEOUT';

/** Throws the faults of `callOnce`. */
export type SendRequest = (call: HttpCall) => Promise<HttpAnswer>;

/**
 * Does not retry and does not follow redirects.
 *
 * @throws RetryableError `<party>_unreachable` if no connection was made, so nothing was sent
 * @throws AmbiguousError `<party>_timeout`, `<party>_connection_lost` or `<party>_answer_too_large`
 * @throws TerminalError `<party>_request_invalid` if the call is not a valid HTTP request, so nothing was sent
 */
export async function callOnce(call: HttpCall): Promise<HttpAnswer> {
  const party = call.party ?? 'processor';
  const request = requestOf(call, party);
  try {
    const response = await fetch(request);
    return {
      status: response.status,
      retryAfter: response.headers.get('retry-after'),
      headers: response.headers,
      text: await readBounded(response, party, call.maxAnswerBytes ?? DEFAULT_ANSWER_BYTES),
    };
  } catch (error) {
    throw asFault(error, party, call.causes ?? 'kept');
  }
}

function requestOf({ method, url, headers, body, timeoutMs, causes }: HttpCall, party: string): Request {
  // AbortSignal accepts whole milliseconds only.
  const signal = AbortSignal.timeout(Math.max(1, Math.trunc(timeoutMs)));
  try {
    return new Request(url, { method, headers, ...defined({ body }), redirect: 'manual', signal });
  } catch (cause) {
    const options = causes === 'dropped' ? {} : { cause };
    throw new TerminalError(
      `${party}_request_invalid`,
      `The request to the ${party} is invalid (URL, method or headers).`,
      options,
    );
  }
}

async function readBounded(response: Response, party: string, maxBytes: number): Promise<string> {
  if (response.body === null) return '';
  const body: AsyncIterable<Uint8Array> = response.body;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop early cancels the stream, which closes the connection.
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) {
      throw new AmbiguousError(`${party}_answer_too_large`, `The response is longer than ${maxBytes} bytes.`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function asFault(error: unknown, party: string, causes: 'kept' | 'dropped'): Error {
  if (error instanceof AmbiguousError) return error;
  const inner = failedFetch.safeParse(error).data?.cause;
  const options = { cause: causes === 'kept' ? error : { cause: { code: systemError.safeParse(inner).data?.code } } };
  if (error instanceof DOMException && error.name === 'TimeoutError') {
    return new AmbiguousError(`${party}_timeout`, `The ${party} did not respond in time.`, options);
  }
  if (isBeforeSending(inner)) {
    return new RetryableError(`${party}_unreachable`, `The ${party} cannot be reached.`, options);
  }
  return new AmbiguousError(`${party}_connection_lost`, 'The connection broke before the response ended.', options);
}

const failedFetch = z.lazy(() => z.object({ cause: z.unknown() }));
const systemError = z.lazy(() => z.object({ syscall: z.string().optional(), code: z.string().optional() }));
/** The error when the connections to all addresses of a host name failed. */
const severalErrors = z.lazy(() => z.object({ errors: z.array(z.unknown()).min(1) }));

function isBeforeSending(cause: unknown): boolean {
  const several = severalErrors.safeParse(cause);
  if (several.success) return several.data.errors.every(isBeforeSending);
  const { syscall, code } = systemError.safeParse(cause).data ?? {};
  return code === CONNECT_TIMEOUT || (syscall !== undefined && BEFORE_SENDING.has(syscall));
}
