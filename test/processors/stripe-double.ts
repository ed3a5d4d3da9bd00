import { createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listenOnLoopback, stopListening } from '../sandbox/sandbox-listen.ts';
import { type DoubleAnswer, type Params, StripeDoubleBooks } from './stripe-double-books.ts';
import type { DoubleIntent } from './stripe-double-objects.ts';

/** A fault that is injected into the next write, or into the next call of any kind. */
export type StripeTrouble =
  /** The call is not applied, and gets no response. */
  | 'silent_before'
  /** The call is applied, and gets no response. */
  | 'silent_after'
  /** The response is a 500, which is stored under the idempotency key, as at Stripe. */
  | 'error_before'
  | 'error_after'
  /** A gateway in front of the API returns 503: the call is neither applied nor stored under the key. */
  | 'unavailable'
  | 'rate_limited'
  | 'lock_timeout'
  | 'unauthorized'
  | 'forbidden'
  | 'reset_before'
  | 'reset_after'
  /** The call is applied, and its response is truncated. */
  | 'malformed_after'
  /** The call starts, and then blocks until `release`. */
  | 'held';

interface RecordedCall {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly params: Params;
}

export interface StripeDoubleOptions {
  /**
   * Delay until the search finds a new intent, in milliseconds.
   * @default 0
   */
  readonly searchLagMs?: number;
  /** The account of the API key. @default acct_double */
  readonly account?: string;
  /**
   * Fee of every charge, in the charge's currency.
   *
   * @default Stripe has not booked a fee yet
   */
  readonly fee?: number;
}

export interface StripeDouble extends AsyncDisposable {
  readonly url: string;
  /** In order of arrival. */
  readonly calls: readonly RecordedCall[];
  readonly books: StripeDoubleBooks;
  readonly clock: { nowMs(): number };
  advance(milliseconds: number): void;
  /** Injects one fault into each of the next writes, in order. `anyCall` includes reads. */
  trouble(troubles: readonly StripeTrouble[], scope?: 'changes' | 'anyCall'): void;
  /** Returns the next fault if it suppresses the response, otherwise undefined. */
  nextSilence(): 'silent_before' | 'silent_after' | undefined;
  /** Resolves when the next call gets no response. */
  silence(): Promise<void>;
  release(): void;
  /** Signs a callback as Stripe does. */
  event(type: string, object: object): { readonly body: Buffer; readonly headers: Record<string, string> };
  intentsOf(paymentId: string): readonly DoubleIntent[];
}

export const DOUBLE_KEY = 'sk_test_double';
export const DOUBLE_SECRET = 'whsec_double';
const START_MS = Date.UTC(2026, 0, 1);
const KEY_RETENTION_MS = 24 * 60 * 60 * 1_000;

interface KnownKey {
  readonly request: string;
  readonly atMs: number;
  answer?: DoubleAnswer;
}

/**
 * Serves the part of Stripe's API that the adapter uses, over HTTP on loopback. The double keeps state, reads
 * form-encoded requests, and returns the documented error bodies. It follows the rules for idempotency keys
 * ("Idempotent requests"; "Advanced error handling"):
 *
 * The first result, including an error, is stored for 24 hours. Different parameters under a known key are an
 * `idempotency_error`. A key in use gets 409. A refusal before the endpoint starts (rate limit, API key, parameters)
 * is not stored.
 */
export async function serveStripe(options: StripeDoubleOptions = {}): Promise<StripeDouble> {
  const double = new Double(options);
  const server = createServer((request, response) => {
    double.handle(request, response).catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : undefined);
    });
  });
  const url = await listenOnLoopback(server);
  return {
    url,
    calls: double.calls,
    books: double.books,
    clock: { nowMs: () => double.nowMs },
    advance: (milliseconds) => {
      double.nowMs += milliseconds;
    },
    nextSilence: () => {
      const next = double.troubles[0]?.trouble;
      return next === 'silent_before' || next === 'silent_after' ? next : undefined;
    },
    silence: () => new Promise((resolve) => double.silences.push(resolve)),
    trouble: (troubles, scope = 'changes') => {
      double.troubles.push(...troubles.map((trouble) => ({ trouble, scope })));
    },
    release: () => double.held.splice(0).forEach((goOn) => goOn()),
    event: (type, object) => double.event(type, object),
    intentsOf: (paymentId) =>
      [...double.books.intents.values()].filter(({ metadata }) => metadata['payment'] === paymentId),
    [Symbol.asyncDispose]: () => stopListening(server),
  };
}

class Double {
  readonly calls: RecordedCall[] = [];
  readonly books: StripeDoubleBooks;
  readonly troubles: { readonly trouble: StripeTrouble; readonly scope: 'changes' | 'anyCall' }[] = [];
  readonly held: (() => void)[] = [];
  readonly silences: (() => void)[] = [];
  readonly #account: string;
  readonly #keys = new Map<string, KnownKey>();
  nowMs = START_MS;
  #events = 0;

  constructor({ searchLagMs = 0, fee, account = 'acct_double' }: StripeDoubleOptions) {
    this.#account = account;
    this.books = new StripeDoubleBooks({ nowMs: () => this.nowMs, searchLagMs, fee });
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const call = await recorded(request);
    this.calls.push(call);
    const trouble = this.#nextTrouble(call.method);
    if (trouble === 'silent_before') return this.#fallSilent();
    if (trouble === 'reset_before') return reset(request);
    const refused = this.#refusedAtTheDoor(call, trouble);
    if (refused !== undefined) return send(response, refused);
    if (trouble === 'held') {
      const known = this.#begin(call);
      await new Promise<void>((resolve) => {
        this.held.push(resolve);
      });
      return send(response, this.#finish(call, known));
    }
    const answer = this.#answer(call, trouble);
    if (trouble === 'silent_after') return this.#fallSilent();
    if (trouble === 'reset_after') return reset(request);
    if (trouble === 'malformed_after') {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body).slice(0, 40));
      return;
    }
    send(response, answer);
  }

  event(type: string, object: object) {
    this.#events += 1;
    const atSeconds = Math.floor(this.nowMs / 1_000);
    const event = {
      id: `evt_3Double${this.#events}`,
      object: 'event',
      api_version: '2026-10-28.endive',
      created: atSeconds,
      data: { object },
      livemode: false,
      pending_webhooks: 1,
      type,
    };
    const body = Buffer.from(JSON.stringify(event, undefined, 2));
    const signature = createHmac('sha256', DOUBLE_SECRET).update(`${atSeconds}.`).update(body).digest('hex');
    return { body, headers: { 'stripe-signature': `t=${atSeconds},v1=${signature}` } };
  }

  #fallSilent(): void {
    for (const fallen of this.silences.splice(0)) fallen();
  }

  #nextTrouble(method: string): StripeTrouble | undefined {
    const [next] = this.troubles;
    if (next === undefined || (next.scope === 'changes' && method !== 'POST')) return undefined;
    this.troubles.shift();
    return next.trouble;
  }

  /** Refuses a call before the idempotency layer, so that nothing is stored under the key. */
  #refusedAtTheDoor({ headers }: RecordedCall, trouble: StripeTrouble | undefined): DoubleAnswer | undefined {
    const wrongKey = headers['authorization'] !== `Bearer ${DOUBLE_KEY}`;
    if (wrongKey || trouble === 'unauthorized') {
      return failed(401, { type: 'invalid_request_error', message: 'Invalid API Key provided: sk_test_****uble' });
    }
    if (trouble === 'forbidden') {
      return failed(403, { type: 'invalid_request_error', message: 'The provided key does not have access.' });
    }
    if (trouble === 'rate_limited') {
      return failed(429, {
        type: 'invalid_request_error',
        code: 'rate_limit',
        message: 'Request rate limit exceeded.',
      });
    }
    if (trouble === 'lock_timeout') {
      return failed(429, { type: 'invalid_request_error', code: 'lock_timeout', message: 'This object is locked.' });
    }
    if (trouble === 'unavailable') return failed(503, { type: 'api_error', message: 'Stripe is unavailable.' });
    return undefined;
  }

  #answer(call: RecordedCall, trouble: StripeTrouble | undefined): DoubleAnswer {
    if (call.method === 'POST') return this.#underItsKey(call, trouble);
    return trouble === 'error_before' || trouble === 'error_after' ? BROKEN : this.#execute(call);
  }

  #underItsKey(call: RecordedCall, trouble: StripeTrouble | undefined): DoubleAnswer {
    const known = this.#begin(call);
    if ('status' in known) return known;
    if (known.answer !== undefined) return known.answer;
    if (trouble === 'error_before') {
      known.answer = BROKEN;
      return BROKEN;
    }
    const answer = this.#finish(call, known);
    if (trouble !== 'error_after') return answer;
    known.answer = BROKEN;
    return BROKEN;
  }

  #begin(call: RecordedCall): KnownKey | DoubleAnswer {
    const key = call.headers['idempotency-key'];
    const request = JSON.stringify([call.method, call.path, new URLSearchParams(call.params).toString()]);
    if (key === undefined) return { request, atMs: this.nowMs };
    const known = this.#keys.get(key);
    if (known === undefined || this.nowMs >= known.atMs + KEY_RETENTION_MS) {
      const fresh = { request, atMs: this.nowMs };
      this.#keys.set(key, fresh);
      return fresh;
    }
    if (known.request !== request) {
      return failed(400, {
        type: 'idempotency_error',
        message: 'Keys for idempotent requests can only be used with the same parameters they were first used with.',
      });
    }
    if (known.answer !== undefined) return known;
    return failed(409, {
      type: 'invalid_request_error',
      code: 'idempotency_key_in_use',
      message: 'There is currently another in-progress request using this Idempotent Key.',
    });
  }

  #finish(call: RecordedCall, known: KnownKey | DoubleAnswer): DoubleAnswer {
    if ('status' in known) return known;
    const answer = this.#execute(call);
    if (answer.began) known.answer = answer;
    else this.#keys.delete(call.headers['idempotency-key'] ?? '');
    return answer;
  }

  /** Returns a copy of the object, so that later changes to the object do not change the stored response. */
  #execute({ method, path, params }: RecordedCall): DoubleAnswer {
    if (path === '/v1/account') return { status: 200, body: { id: this.#account, object: 'account' }, began: false };
    const { status, body, began } = this.books.answer(method, path, params);
    return { status, body: structuredClone(body), began };
  }
}

async function recorded(request: IncomingMessage): Promise<RecordedCall> {
  const chunks: Uint8Array[] = [];
  const incoming: AsyncIterable<Uint8Array> = request;
  for await (const chunk of incoming) chunks.push(chunk);
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://stripe.example');
  const form = new URLSearchParams(Buffer.concat(chunks).toString('utf8'));
  const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)]);
  return {
    method: request.method ?? 'GET',
    path: pathname,
    headers: Object.fromEntries(headers),
    params: Object.fromEntries([...searchParams, ...form]),
  };
}

function failed(status: number, error: object): DoubleAnswer {
  return { status, body: { error }, began: false };
}

const BROKEN = failed(500, { type: 'api_error', message: 'An unknown error occurred' });

function send(response: ServerResponse, { status, body }: DoubleAnswer): void {
  const retryAfter = status === 429 ? { 'retry-after': '1' } : {};
  const fields = { 'content-type': 'application/json', 'request-id': 'req_double', ...retryAfter };
  response.writeHead(status, fields).end(JSON.stringify(body, undefined, 2));
}

function reset(request: IncomingMessage): void {
  request.socket.resetAndDestroy();
}
