import type { Answer } from '../../kernel/answer.ts';
import { RetryableError } from '../../kernel/faults.ts';
import type { OperationId, OwnerToken, PaymentId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { OpenRecord } from '../../once/domain/idempotency.ts';
import {
  type Attempt,
  type ClaimedKey,
  type Conclusion,
  type Executed,
  type ExecuteTools,
  executeOnce,
  type Held,
  type Operation,
} from '../../once/use/execute-once.ts';
import type { ExpectedRecord } from '../../once/use/record-store.ts';
import { MAX_WRITES, type OwnWrite, type RequestRecords } from './own-records.ts';

/**
 * Thrown when another owner has taken over the work. Nothing more is written. The next request with the idempotency key
 * gets the new owner's response.
 */
export class FencedError extends Error {
  override readonly name = 'FencedError';
}

/**
 * Thrown for a response with 5xx or 429. Nothing is stored except the rows of `writeNow`, and the next request with the
 * idempotency key runs the handler again.
 */
export class NotStored extends Error {
  override readonly name = 'NotStored';
  readonly answer: Answer;

  constructor(answer: Answer) {
    super(`the handler responded with ${answer.status}`);
    this.answer = answer;
  }
}

/** The operations that a handler may use while it holds the claim of its request. */
export interface Effect<Write extends OwnWrite = OwnWrite> {
  /** Id of the operation, the same for every attempt. Use it as the idempotency key for calls to other systems. */
  readonly operationId: string;
  /** `again`: an earlier attempt may have called other systems or written parts. */
  readonly attempt: 'first' | 'again';
  /**
   * Aborted as soon as another owner has taken over. Pass this signal to requests that take long: `fetch(url, { signal
   * })`.
   */
  readonly signal: AbortSignal;
  /**
   * Adds writes to the commit, at most 99. They are written in one transaction with the stored response, or not at all.
   */
  write(...writes: readonly Write[]): void;
  /**
   * Writes a part of long work immediately: at most 99 rows, in one transaction that also renews the lease. Each write
   * needs a condition, because after a crash the next attempt starts again with the first part.
   *
   * @returns false when a condition failed; nothing was written
   * @throws FencedError when another owner has taken over; nothing was written
   */
  writeNow(...writes: readonly Write[]): Promise<boolean>;
}

export interface RequestTools extends Omit<ExecuteTools, 'store'> {
  readonly store: RequestRecords;
}

export interface ServiceRequest<Write extends OwnWrite> {
  readonly scope: string;
  readonly leaseSeconds: number;
  readonly operationId: OperationId;
  readonly fingerprint: ClaimedKey['fingerprint'];
  readonly handle: (effect: Effect<Write>) => Promise<Answer>;
}

interface Handled {
  readonly answer: Answer;
  readonly writes: readonly OwnWrite[];
}

export interface Expired {
  readonly kind: 'key_expired';
}

/**
 * A stored response must fit into one DynamoDB item with the rest of the record, and into a row of PostgreSQL without
 * slowing down every read of the record.
 */
const MAX_ANSWER_BYTES = 256 * 1024;

/** @throws NotStored for 5xx and 429; Error when the response is too large */
export function storable(answer: Answer): Answer {
  if (answer.status >= 500 || answer.status === 429) throw new NotStored(answer);
  const bytes = Buffer.byteLength(answer.body);
  if (bytes > MAX_ANSWER_BYTES)
    throw new Error(`A response of ${bytes} bytes cannot be stored: the maximum is ${MAX_ANSWER_BYTES}.`);
  return answer;
}

/** @throws as `executeOnce`; NotStored; FencedError */
export async function runRequest<Write extends OwnWrite>(
  tools: RequestTools,
  request: ServiceRequest<Write>,
): Promise<Executed<Expired>> {
  return executeOnce(tools, new RequestOperation(tools, request));
}

class RequestOperation<Write extends OwnWrite> implements Operation<undefined, Handled, readonly OwnWrite[], Expired> {
  readonly key: ClaimedKey;
  readonly expired = { kind: 'key_expired' as const };
  readonly scope: string;
  readonly leaseSeconds: number;
  readonly #tools: RequestTools;
  readonly #request: ServiceRequest<Write>;

  constructor(tools: RequestTools, request: ServiceRequest<Write>) {
    this.#tools = tools;
    this.#request = request;
    this.scope = request.scope;
    this.leaseSeconds = request.leaseSeconds;
    const { operationId, fingerprint } = request;
    // In Payonce's own records, this field contains the payment id. In a service's record, it contains the service's
    // own operation id.
    this.key = { operationId, fingerprint, paymentId: operationId as string as PaymentId };
  }

  async claim(open: (claimedAtMs: number, nowMs: number) => OpenRecord): Promise<Attempt<undefined, Expired>> {
    const nowMs = this.#tools.clock.nowMs();
    const record = open(nowMs, nowMs);
    const claimed = await this.#tools.store.claim(record);
    return claimed.kind === 'claimed' ? { kind: 'claimed', record, subject: undefined } : claimed;
  }

  async call({ owner, sent }: Held<undefined>): Promise<Handled> {
    const lease = new KeptLease(this.#tools, this.#request, owner);
    const writes: OwnWrite[] = [];
    const effect: Effect<Write> = {
      operationId: this.key.operationId,
      attempt: sent === 'nothing' ? 'first' : 'again',
      signal: lease.signal,
      write: (...added) => {
        writes.push(...added);
        checkNumber(writes);
      },
      writeNow: async (...part) => {
        checkNumber(part);
        const renewed = await lease.renew(part);
        if (renewed === 'fenced') throw new FencedError('another owner has taken over this request');
        return renewed === 'renewed';
      },
    };
    try {
      return { answer: storable(await this.#request.handle(effect)), writes };
    } finally {
      await lease.settled();
    }
  }

  /**
   * Returns every error unchanged, so that the claim is released. The next attempt may begin immediately, because the
   * handler's writes are part of the commit and its requests to other systems have an idempotency key.
   */
  unsent(error: unknown): unknown {
    return error;
  }

  conclude({ answer, writes }: Handled): Conclusion<readonly OwnWrite[]> {
    return { write: writes, answer, unknown: false, isRefusal: false };
  }

  async commit(record: Parameters<RequestRecords['commit']>[0], expects: ExpectedRecord, writes: readonly OwnWrite[]) {
    const outcome = await this.#tools.store.commit(record, expects, writes);
    // The condition of a handler's write failed. Release the claim, so that the next attempt can read the changed row.
    if (outcome.kind === 'transition_exists') await this.#tools.store.release(this.key.operationId, record.owner);
    return outcome;
  }

  async decideAgain(): Promise<never> {
    const message = 'A condition of a write does not hold, and nothing was written.';
    throw new RetryableError('write_condition_failed', message, { retryAfterSeconds: 1 });
  }

  // Never called: the claim writes only the record, so without a record, no other row of the request exists.
  lostRecord(): never {
    throw new Error('a request has begun without a record');
  }

  async claimAgain(): Promise<boolean> {
    return false;
  }

  async read(): Promise<undefined> {
    return undefined;
  }
}

function checkNumber(writes: readonly OwnWrite[]): void {
  invariant(writes.length <= MAX_WRITES, `the handler has ${writes.length} writes; the maximum is ${MAX_WRITES}`);
}

type LeasedRequest = Pick<ServiceRequest<OwnWrite>, 'operationId' | 'leaseSeconds'>;

/**
 * Renews the lease while a handler runs, three times per lease. A renewal fails if the process was paused for longer
 * than a lease and another owner has taken over the work.
 */
class KeptLease {
  readonly #tools: RequestTools;
  readonly #request: LeasedRequest;
  readonly #owner: OwnerToken;
  readonly #lost = new AbortController();
  readonly #underWay = new Set<Promise<undefined>>();
  readonly #timer: NodeJS.Timeout;

  constructor(tools: RequestTools, request: LeasedRequest, owner: OwnerToken) {
    this.#tools = tools;
    this.#request = request;
    this.#owner = owner;
    // Ignore errors. If the lease expires because the store does not respond, the condition of each write decides
    // whether this owner may still write.
    this.#timer = setInterval(() => void this.renew([]).catch(() => undefined), (request.leaseSeconds * 1000) / 3);
    this.#timer.unref();
  }

  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  async renew(writes: readonly OwnWrite[]): Promise<'renewed' | 'fenced' | 'refused'> {
    const renewal = this.#renew(writes);
    const ended = renewal.then(
      () => undefined,
      () => undefined,
    );
    this.#underWay.add(ended);
    void ended.then(() => this.#underWay.delete(ended));
    return renewal;
  }

  /**
   * Stops the renewals, and waits for renewals in progress, because a renewal that is written after the release of the
   * claim would restore the lease.
   */
  async settled(): Promise<void> {
    this.end();
    await Promise.all(this.#underWay);
  }

  async #renew(writes: readonly OwnWrite[]): Promise<'renewed' | 'fenced' | 'refused'> {
    const { store, clock } = this.#tools;
    const { operationId, leaseSeconds } = this.#request;
    const leaseExpiresAtMs = clock.nowMs() + leaseSeconds * 1000;
    const renewed = await store.renew(operationId, this.#owner, leaseExpiresAtMs, writes);
    if (renewed === 'fenced') this.end(new FencedError('another owner has taken over this request'));
    return renewed;
  }

  end(reason?: FencedError): void {
    clearInterval(this.#timer);
    if (reason !== undefined) this.#lost.abort(reason);
  }
}
