import type { Answer } from '../../kernel/answer.ts';
import { RETENTION_HOURS, RETENTION_JITTER, type Retention, retentionHours } from '../../kernel/contract/retention.ts';
import type { Fingerprint } from '../../kernel/fingerprint.ts';
import type { OperationId, OwnerToken, PaymentId } from '../../kernel/ids.ts';
import type { Entropy } from '../../kernel/world.ts';

/** A request to another system that an owner made under its claim. */
export interface NotedCall {
  /** `send`: a request that may take effect. `look`: a look-up of an earlier request. */
  readonly do: 'send' | 'look';
  /**
   * The kind of the answer, or `no_response` (a send that may have taken effect), `not_sent`, or `unavailable` (a
   * look-up without an answer).
   */
  readonly result: string;
  /** Start of the call. Unix milliseconds. */
  readonly atMs: number;
  /** Milliseconds. */
  readonly tookMs: number;
}

/** An owner that did not complete its claim and was replaced by another owner. */
export interface EarlierOwner {
  readonly owner: OwnerToken;
  /** Time at which the next owner took over the claim. Unix milliseconds. */
  readonly untilMs: number;
  /** The owner released its claim, because it had sent nothing. */
  readonly released?: true;
}

/** Number of earlier owners that a record keeps: the latest ones. */
const EARLIER_KEPT = 5;

/** Returns the earlier owners of a claim that is taken over at `nowMs`. */
export function earlierOwners({ earlier = [], owner, released }: OpenRecord, nowMs: number): readonly EarlierOwner[] {
  const last: EarlierOwner = { owner, untilMs: nowMs, ...(released ? { released: true } : {}) };
  return [...earlier, last].slice(-EARLIER_KEPT);
}

/** A claim without a stored answer. It never expires: its owner, a retry or the resolver completes it. */
export interface OpenRecord {
  readonly status: 'INPROGRESS';
  readonly operationId: OperationId;
  readonly paymentId: PaymentId;
  readonly fingerprint: Fingerprint;
  readonly owner: OwnerToken;
  readonly claimedAtMs: number;
  /**
   * Time of the last write: claim, takeover, release or completion. Absent in records of earlier versions. Unix
   * milliseconds.
   */
  readonly changedAtMs?: number;
  /** Unix milliseconds; 0 after the claim was released. */
  readonly leaseExpiresAtMs: number;
  /** The owner released the claim, because it had sent nothing. */
  readonly released: boolean;
  /** Oldest first. Absent when the claim was never taken over. */
  readonly earlier?: readonly EarlierOwner[];
  /** No run can complete the operation, and an alarm has been raised. @default false */
  readonly undecidable?: boolean;
}

export interface CompletedRecord {
  readonly status: 'COMPLETED';
  readonly operationId: OperationId;
  readonly paymentId: PaymentId;
  readonly fingerprint: Fingerprint;
  /** The owner that completed the operation. */
  readonly owner: OwnerToken;
  readonly claimedAtMs: number;
  /** Time of the completion. Absent in records of earlier versions. Unix milliseconds. */
  readonly changedAtMs?: number;
  readonly answer: Answer;
  readonly earlier?: readonly EarlierOwner[];
  /** The calls of the completing owner, in order. Absent when there are none. */
  readonly calls?: readonly NotedCall[];
  /** Unix seconds, the unit of DynamoDB's time to live. Readers check it, because DynamoDB deletes expired items late. */
  readonly expiresAtSeconds: number;
}

export type IdempotencyRecord = OpenRecord | CompletedRecord;

/**
 * The record of an effect in Payonce's own tables, for example a callback's transition or a correction. One transaction
 * writes it with the effect, so there is no claim and nothing to take over.
 */
export interface EffectRecord {
  readonly operationId: OperationId;
  /** Absent when the effect concerned no known payment. */
  readonly paymentId?: PaymentId;
  /** The writer of the record. A writer whose response was lost recognizes its own record by this token. */
  readonly owner: OwnerToken;
  readonly recordedAtMs: number;
  /** The request's fingerprint and stored answer, when a caller requested the effect. */
  readonly request?: {
    readonly fingerprint: Fingerprint;
    readonly answer: Answer;
    /**
     * End of the time in which the answer is replayed. Set for a record that is kept longer, because its effect is
     * found through it. Unix seconds.
     */
    readonly untilSeconds?: number;
  };
  /** Unix seconds. Absent for a permanent record, without which a second effect would not be refused. */
  readonly expiresAtSeconds?: number;
}

/**
 * Maximum lifetime of the record of a keyed request, with the fingerprint of the whole request. DynamoDB may delete the
 * record later. Days.
 */
export const RECORDS_KEPT_DAYS = Math.ceil((RETENTION_HOURS.payments * (1 + RETENTION_JITTER)) / 24);

/** Retention of a run. A repeated request for it within this time starts nothing. Days. */
export const RUN_RETENTION_DAYS = 30;

export interface Expiring {
  readonly entropy: Pick<Entropy, 'fraction'>;
  /** @default RETENTION_HOURS */
  readonly retention?: Retention | undefined;
}

/** Returns the expiry of a record of the scope that is completed now. Unix seconds. */
export function expirySeconds({ entropy, retention }: Expiring, scope: string, nowMs: number): number {
  return Math.ceil(
    nowMs / 1000 + retentionHours(scope, retention) * 3600 * (1 + RETENTION_JITTER * entropy.fraction()),
  );
}

/** Returns the expiry of the record of an accepted run. Unix seconds. */
export function runExpirySeconds({ entropy }: Expiring, nowMs: number): number {
  return expirySeconds({ entropy, retention: { runs: RUN_RETENTION_DAYS * 24 } }, 'runs', nowMs);
}

export function isExpired(record: CompletedRecord, nowMs: number): boolean {
  return record.expiresAtSeconds * 1000 <= nowMs;
}

export function isLeased(record: OpenRecord, nowMs: number): boolean {
  return record.leaseExpiresAtMs > nowMs;
}
