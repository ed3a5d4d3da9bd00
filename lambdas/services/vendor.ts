import type { OutboundMetric } from '../kernel/contract/metrics.ts';
import { systemClock, systemEntropy } from '../kernel/platform/platform.ts';
import type { CallLimit } from '../kernel/world.ts';
import { VENDOR_WAITS } from '../outbound/call-with-retries.ts';
import type { BreakerSettings } from '../outbound/circuit-breaker.ts';
import { callOnce, type HttpAnswer, type HttpCall } from '../outbound/http-call.ts';
import type { DeadLettered, OnGivenUp, OutboundCall, OutboundRead } from '../outbound/outbound-calls.ts';
import { createOutboundPolicy } from '../outbound/outbound-policy.ts';
import { type SendOnceRequest, type SendOutcome, sendOnce } from '../outbound/send-once.ts';
import { PostgresSendingClaims } from '../outbound/store/postgres-sending-claims.ts';
import type { DeadLetter } from '../outbound/use/dead-letters.ts';
import { standardRetryAfter, vendorFault } from '../outbound/vendor-answers.ts';
import { check, checkSchema } from './options.ts';
import { type Pool, SERVICE_SCHEMA, statementsOf } from './store/own-database.ts';

/**
 * Calls of the team's own services to other systems, with the policy that Payonce uses for its own vendors: retries
 * with full jitter after 0.5, 2, 5 and 30 seconds, `Retry-After`, a retry budget, a circuit breaker, dead letters, and
 * a local key for a vendor that does not recognize repeated requests.
 *
 * This file is the complete interface. docs/guides/services.md has an example.
 */

export { AmbiguousError, RetryableError, TerminalError } from '../kernel/faults.ts';
export type { HttpAnswer } from '../outbound/http-call.ts';
export type { DeadLettered, OutboundCall } from '../outbound/outbound-calls.ts';
export type { SendAnswer, SendOnceRequest, SendOutcome } from '../outbound/send-once.ts';
export type { DeadLetter } from '../outbound/use/dead-letters.ts';

export interface VendorOptions {
  /** Name of the vendor, in lower case with underscores. It is the prefix of fault codes, and is stored with keys. */
  readonly name: string;
  /**
   * Checks the vendor's health after an outage, before calls are sent again. Must not use `call` of the returned
   * vendor.
   * @throws if the vendor is unavailable
   */
  readonly probe: (limit: CallLimit) => Promise<unknown>;
  /** Stores a call whose attempts have all failed. If the call is made again and fails again, it is stored again. */
  readonly deadLetter: (deadLetter: DeadLetter) => Promise<void>;
  /**
   * A `pg` pool. `sendOnce` stores local keys in its database. `payonce db migrate --service` creates the table.
   * @default none, for vendors that recognize an idempotency key
   */
  readonly postgres?: Pool;
  /** The schema of the table, as for `createOnce`. @default payonce_once */
  readonly schema?: string;
  /** Time limit of one attempt, in milliseconds. @default 10 seconds */
  readonly timeoutMs?: number;
  /**
   * Maximum waits before the second and later attempts, in milliseconds. An attempt that could end after the deadline
   * of its call is not begun.
   * @default 0.5, 2, 5 and 30 seconds
   */
  readonly waitsMs?: readonly number[];
  /** @default five consecutive failures open the breaker for 10 seconds */
  readonly breaker?: BreakerSettings;
  /** Called for each call, retry, probe, opening of the breaker and dead letter. @default nothing */
  readonly count?: (count: OutboundMetric) => void;
}

export interface Vendor {
  /**
   * Sends one HTTP request once, for `send`, `lookUp` and `probe`. Returns responses with 2xx, and responses whose
   * status is in `expected`. Follows no redirects.
   *
   * @throws RetryableError if nothing was applied: no connection, or 429; the error contains the time from
   * `Retry-After`
   * @throws AmbiguousError if the request may have been applied: no complete response, a redirect, or 5xx
   * @throws TerminalError if a retry cannot help: other 4xx
   */
  request(
    call: Pick<HttpCall, 'method' | 'url' | 'body'> & { readonly headers?: HttpCall['headers'] },
    limit: CallLimit,
    expected?: readonly number[],
  ): Promise<HttpAnswer>;
  /**
   * Makes a call with retries.
   *
   * @param payload the data that a redrive needs to repeat the call. With it, the call is dead-lettered when its
   * attempts have failed
   * @throws RetryableError, AmbiguousError, TerminalError when the attempts have failed, and no dead letter was stored
   */
  call<T>(call: OutboundCall<T>): Promise<T>;
  call<T>(call: OutboundCall<T>, payload: object): Promise<T | DeadLettered>;
  /** Makes a call without effects, with retries. @throws as `call` */
  read<T>(read: OutboundRead<T>): Promise<T>;
  /**
   * Makes a call once, to a vendor that does not recognize repeated requests. A claim of the key is stored before the
   * request is sent. A later process that finds the claim searches the vendor for the request (`lookUp`), or returns
   * `needs_review`.
   *
   * @throws RetryableError while another process may be sending; AmbiguousError when the outcome is not known yet;
   * Error for an empty key, or if the vendor has no `postgres`
   */
  sendOnce(
    request: Omit<SendOnceRequest, 'givenUp'> & { readonly givenUp?: Exclude<OnGivenUp, 'delay'> },
  ): Promise<SendOutcome>;
}

const NAME = /^[a-z](?:_?[a-z0-9]){1,29}$/;
const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_WAITS_MS = [...VENDOR_WAITS.inProcessMs, VENDOR_WAITS.delayedSeconds * 1_000];
const REDIRECT_STATUS = 300;

/**
 * Creates the functions that call one vendor, with a breaker and a retry budget of this process.
 * @throws Error for a wrong option
 */
export function createVendor(options: VendorOptions): Vendor {
  const { name, postgres, schema = SERVICE_SCHEMA, count = () => undefined } = options;
  check(
    NAME.test(name),
    'name',
    name,
    'must be 2 to 30 lower-case letters and digits with single underscores between them, beginning with a letter',
  );
  checkSchema(schema);
  const pacing = { clock: systemClock, entropy: systemEntropy };
  const policy = createOutboundPolicy({
    ...pacing,
    vendor: name,
    observer: { count: (_vendor, metric) => count(metric) },
    deadLetters: { put: options.deadLetter },
    timeoutMs: options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    waitsMs: options.waitsMs ?? DEFAULT_WAITS_MS,
    probe: async (limit) => void (await options.probe(limit)),
    ...(options.breaker === undefined ? {} : { breaker: options.breaker }),
  });
  function call<T>(made: OutboundCall<T>): Promise<T>;
  function call<T>(made: OutboundCall<T>, payload: object): Promise<T | DeadLettered>;
  async function call<T>(made: OutboundCall<T>, payload?: object): Promise<T | DeadLettered> {
    return payload === undefined ? policy.call(made) : policy.callOrDeadLetter(made, payload);
  }
  return {
    request: async ({ headers = {}, ...rest }, { timeoutMs }, expected = []) => {
      const answer = await callOnce({ ...rest, headers, timeoutMs, party: name });
      if (answer.status < REDIRECT_STATUS || expected.includes(answer.status)) return answer;
      throw vendorFault(name, answer, standardRetryAfter(answer, systemClock.nowMs()));
    },
    call,
    read: (read) => policy.read(read),
    sendOnce: async (request) => {
      if (postgres === undefined) throw new Error('sendOnce needs the option postgres, for the table of local keys');
      const { key } = request;
      check(typeof key === 'string' && key !== '', 'key', key, 'must be a non-empty string');
      const claims = new PostgresSendingClaims(statementsOf(postgres, pacing), `${schema}.sending`, name);
      return sendOnce({ policy, claims, clock: pacing.clock }, request);
    },
  };
}
