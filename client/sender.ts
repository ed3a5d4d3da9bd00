import { parseRetryAfter } from '../lambdas/kernel/retry-after.ts';
import { pauseMs } from './backoff.ts';
import { type ClientCode, isTransient, PayonceError, type Problem } from './errors.ts';
import type { Runtime } from './surroundings.ts';

export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body: string | null;
  /** Absent for requests that are safe to repeat. */
  readonly key?: string;
}

/** Time limit and abort signal of a call. */
export interface Limits {
  /**
   * Limit for all attempts and the pauses between them, in milliseconds. In a list, for each page.
   * @default 60,000; for `wait` 120,000
   */
  readonly timeoutMs?: number;
  /**
   * Aborts the call, which then throws the signal's reason. A sent request may still take effect; to find out, call
   * again with the same operation.
   */
  readonly signal?: AbortSignal;
}

/** A final response from the API: the request need not be retried. */
export type Answer =
  | { readonly kind: 'success'; readonly status: number; readonly text: string; readonly value: object }
  | { readonly kind: 'problem'; readonly status: number; readonly text: string; readonly problem: Problem };

/** `sentBefore` is true if the API may have received an earlier attempt, even from an earlier process. */
export type Answered = Answer & { readonly sentBefore: boolean };

type Attempt =
  | Answer
  | {
      readonly kind: 'again';
      readonly why: unknown;
      readonly afterMs?: number;
      readonly received: boolean;
      /** Code of the error to throw if there is no connection to the address, which is then probably wrong. */
      readonly unreachable?: ClientCode;
    };

const TIMEOUT_MS = 60_000;
/** The API's gateway responds within 29 s. */
const ATTEMPT_MS = 30_000;
/** A timeout of some minutes allows fewer attempts; this limit ends the loop in any case. */
const MAX_ATTEMPTS = 100;
/** Retried statuses, which a gateway or proxy in front of the API may return. */
const PASSING_STATUS = new Set([408, 425, 429, 500, 502, 503, 504]);

/** Error codes of Node for an attempt without a connection: nothing was sent. A browser reports none of these codes. */
const UNREACHABLE: ReadonlyMap<unknown, ClientCode> = new Map<unknown, ClientCode>([
  ['ECONNREFUSED', 'connection_refused'],
  ...[
    'ENOTFOUND',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'CERT_HAS_EXPIRED',
    'CERT_NOT_YET_VALID',
    'CERT_REVOKED',
    'CERT_UNTRUSTED',
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_GET_ISSUER_CERT',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  ].map((code): [string, ClientCode] => [code, 'no_connection']),
]);
/** Error code of Node if no name server answered. Nothing was sent, and the host name may be right. */
const NO_NAME_SERVER = 'EAI_AGAIN';

export interface SenderOptions {
  /** Includes the stage, and has no trailing slash. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Sends a request, with the same bytes and key each time, until the API responds. */
export class Sender {
  readonly #options: SenderOptions;
  readonly #around: Runtime;
  /**
   * Whether this URL has ever responded. If it has, a missing connection is an outage, and is retried. Otherwise the
   * URL is probably wrong, and a call fails immediately if its first attempt gets no connection.
   */
  #hasResponded = false;

  constructor(options: SenderOptions, around: Runtime) {
    this.#options = options;
    this.#around = around;
  }

  /**
   * Sends a request.
   * @param sentBefore whether an earlier process may have sent it
   * @throws PayonceError `no_answer` when the time is up; `unexpected_answer` for a response that is not from the API;
   * `connection_refused` or `no_connection` immediately, if the first attempt gets no connection and the address has
   * never responded
   * @throws the reason of `signal` when the signal is aborted
   */
  async send(request: Sent, { timeoutMs = TIMEOUT_MS, signal }: Limits, sentBefore = false): Promise<Answered> {
    const untilMs = this.#around.elapsedMs() + timeoutMs;
    let mayBeReceived = sentBefore;
    let last: unknown;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      signal?.throwIfAborted();
      const leftMs = Math.max(1, untilMs - this.#around.elapsedMs());
      const result = await this.#attempt(request, Math.min(ATTEMPT_MS, leftMs), signal);
      if (result.kind !== 'again') return { ...result, sentBefore: mayBeReceived };
      if (attempt === 0 && result.unreachable !== undefined && !this.#hasResponded)
        throw this.#noConnection(result.unreachable, result.why, sentBefore);
      mayBeReceived ||= result.received;
      last = result.why;
      const waitMs = pauseMs(attempt, this.#around.fraction(), result.afterMs);
      if (this.#around.elapsedMs() + waitMs >= untilMs) break;
      await this.#around.sleep(waitMs, signal);
    }
    const advice = request.key === undefined ? '' : ' To get the response, call again with the same operation.';
    const message = `${request.method} ${request.path} got no response within ${timeoutMs} ms (last: ${reasonOf(last)}).${advice}`;
    const mayHaveTakenEffect = request.key !== undefined && mayBeReceived;
    throw new PayonceError('no_answer', message, { cause: last, mayHaveTakenEffect });
  }

  async #attempt({ method, path, body, key }: Sent, timeoutMs: number, signal?: AbortSignal): Promise<Attempt> {
    const expired = this.#around.expire(timeoutMs);
    const headers = {
      ...this.#options.headers,
      ...(body === null ? {} : { 'content-type': 'application/json' }),
      // Ask the API to wait while another request with this key is running, and to return the response to that request.
      ...(key === undefined ? {} : { 'idempotency-key': key, prefer: 'wait=8' }),
    };
    try {
      const response = await this.#around.fetch(`${this.#options.url}${path}`, {
        method,
        headers,
        body,
        redirect: 'manual',
        signal: signal === undefined ? expired : AbortSignal.any([signal, expired]),
      });
      this.#hasResponded = true;
      return this.#read(response, await response.text(), key !== undefined);
    } catch (error) {
      if (error instanceof PayonceError) throw error;
      signal?.throwIfAborted();
      const code = networkCode(error);
      const unreachable = UNREACHABLE.get(code);
      if (unreachable !== undefined) return { kind: 'again', why: error, received: false, unreachable };
      return { kind: 'again', why: error, received: code !== NO_NAME_SERVER };
    }
  }

  #noConnection(code: ClientCode, cause: unknown, mayHaveTakenEffect: boolean): PayonceError {
    const { url } = this.#options;
    const message =
      code === 'connection_refused'
        ? `Nothing listens at ${url}: the connection was refused. Is the API running, at this address?`
        : `There is no connection to ${url}: ${reasonOf(cause)}. Is this the address of the API?`;
    return new PayonceError(code, message, { cause, mayHaveTakenEffect });
  }

  #read({ status, headers }: Response, text: string, isChange: boolean): Attempt {
    const body = objectIn(text);
    if (status >= 200 && status < 300) {
      const object = body?.['object'];
      // The API never responds to a change with a list. A proxy that followed a redirect has turned the POST into a
      // GET.
      if (body !== undefined && typeof object === 'string' && !(isChange && object === 'list'))
        return { kind: 'success', status, text, value: body };
      // The response was truncated, or is an HTML page of a proxy.
      return {
        kind: 'again',
        why: new Error(`the response with status ${status} does not contain the expected object`),
        received: true,
      };
    }
    const seconds = parseRetryAfter(headers.get('retry-after'), this.#around.nowMs());
    const later = seconds === undefined ? {} : { afterMs: seconds * 1000 };
    if (typeof body?.['code'] === 'string' && body['status'] === status) {
      const problem = body as Problem;
      if (!isTransient(problem)) return { kind: 'problem', status, text, problem };
      const why = new Error(`${problem.code}: ${problem.detail}`);
      return { kind: 'again', why, received: problem.code !== 'rate_limited', ...later };
    }
    const why = new Error(`the response ${status} is not from the API`);
    if (PASSING_STATUS.has(status)) return { kind: 'again', why, received: true, ...later };
    const message =
      `The address returned ${status}, which is not a response from Payonce. Is ${this.#options.url} the address of its API, ` +
      'with its stage?';
    throw new PayonceError('unexpected_answer', message, { mayHaveTakenEffect: true });
  }
}

/** A browser does not say why a connection failed. */
function networkCode(error: unknown): unknown {
  return causeOf(error)?.code;
}

/** The message of `fetch` itself is only `fetch failed`. */
function reasonOf(error: unknown): string {
  const message = causeOf(error)?.message;
  return typeof message === 'string' && message !== ''
    ? message
    : error instanceof Error
      ? error.message
      : String(error);
}

function causeOf(error: unknown): { readonly code?: unknown; readonly message?: unknown } | undefined {
  return (error as { readonly cause?: { readonly code?: unknown; readonly message?: unknown } }).cause;
}

function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
