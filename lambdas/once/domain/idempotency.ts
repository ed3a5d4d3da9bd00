import type { Answer } from '../../kernel/answer.ts';
import { RETENTION_HOURS, RETENTION_JITTER, type Retention, retentionHours } from '../../kernel/contract/retention.ts';
import type { Fingerprint } from '../../kernel/fingerprint.ts';
import type { OperationId, OwnerToken, PaymentId } from '../../kernel/ids.ts';
import type { Entropy } from '../../kernel/world.ts';

/** A request to another system, made by the owner of a claim. */
export interface NotedCall {
  /** `send`: a request that may take effect. `look`: a look-up of an earlier request. */
  readonly do: 'send' | 'look';
  /**
   * The kind of the response, or `no_response` (the request may have taken effect), `not_sent`, or `unavailable` (a
   * look-up got no response).
   */
  readonly result: string;
  readonly atMs: number;
  readonly tookMs: number;
}

/** This owner did not complete its claim, and another owner replaced it. */
export interface EarlierOwner {
  readonly owner: OwnerToken;
  /** Time at which the next owner took over the claim. */
  readonly untilMs: number;
  /** True if the owner released its claim because it had sent nothing. */
  readonly released?: true;
}

const EARLIER_KEPT = 5;

export function earlierOwners({ earlier = [], owner, released }: OpenRecord, nowMs: number): readonly EarlierOwner[] {
  const last: EarlierOwner = { owner, untilMs: nowMs, ...(released ? { released: true } : {}) };
  return [...earlier, last].slice(-EARLIER_KEPT);
}

/** A claim without a stored response. It never expires: its owner, a retry or the resolver completes it. */
export interface OpenRecord {
  readonly status: 'INPROGRESS';
  readonly operationId: OperationId;
  readonly paymentId: PaymentId;
  readonly fingerprint: Fingerprint;
  readonly owner: OwnerToken;
  readonly claimedAtMs: number;
  /** Time of the last claim, takeover or release. Absent in records of earlier versions. */
  readonly changedAtMs?: number;
  /** 0 after the claim was released. */
  readonly leaseExpiresAtMs: number;
  /** Whether the owner released the claim because it had sent nothing. */
  readonly released: boolean;
  /** Oldest first. Absent when the claim was never taken over. */
  readonly earlier?: readonly EarlierOwner[];
  /** True if no run can complete the operation and an alarm was raised. @default false */
  readonly undecidable?: boolean;
}

export interface CompletedRecord {
  readonly status: 'COMPLETED';
  readonly operationId: OperationId;
  readonly paymentId: PaymentId;
  readonly fingerprint: Fingerprint;
  readonly owner: OwnerToken;
  readonly claimedAtMs: number;
  /** Absent in records of earlier versions. */
  readonly changedAtMs?: number;
  readonly answer: Answer;
  readonly earlier?: readonly EarlierOwner[];
  /** The calls of the completing owner, in order. */
  readonly calls?: readonly NotedCall[];
  /** Readers check the expiry, because DynamoDB deletes expired items late. */
  readonly expiresAtSeconds: number;
}

export type IdempotencyRecord = OpenRecord | CompletedRecord;

/**
 * The record of an effect. If the effect is in Payonce's own tables, for example a callback's transition, one
 * transaction writes the effect and its record, so there is no claim to take over. If the effect is in another system,
 * the record replaces the consumer's claim.
 */
export interface EffectRecord {
  readonly operationId: OperationId;
  /** Absent in records of consumers, and when the effect does not belong to a known payment. */
  readonly paymentId?: PaymentId;
  /** A writer whose response was lost recognizes its own record by this token. */
  readonly owner: OwnerToken;
  readonly recordedAtMs: number;
  /** Present when a caller requested the effect. */
  readonly request?: {
    readonly fingerprint: Fingerprint;
    readonly answer: Answer;
    /**
     * Time until which the response is replayed, in Unix seconds. Set only if the record must outlive its response,
     * because the record is also used to look up the effect.
     */
    readonly untilSeconds?: number;
  };
  /** Absent for a permanent record, which must refuse a second effect forever. */
  readonly expiresAtSeconds?: number;
}

/**
 * Maximum time, in days, until the record of a payment request expires, with the default retention. The record contains
 * the fingerprint of the whole request. DynamoDB deletes expired records with a delay.
 */
export const RECORD_RETENTION_DAYS = Math.ceil((RETENTION_HOURS.payments * (1 + RETENTION_JITTER)) / 24);

/** Within this time, a repeated request starts no second run. */
export const RUN_RETENTION_DAYS = 30;

export interface ExpiryOptions {
  readonly entropy: Pick<Entropy, 'fraction'>;
  /** @default RETENTION_HOURS */
  readonly retention?: Retention | undefined;
}

export function expirySeconds({ entropy, retention }: ExpiryOptions, scope: string, nowMs: number): number {
  return Math.ceil(
    nowMs / 1000 + retentionHours(scope, retention) * 3600 * (1 + RETENTION_JITTER * entropy.fraction()),
  );
}

export function runExpirySeconds({ entropy }: ExpiryOptions, nowMs: number): number {
  return expirySeconds({ entropy, retention: { runs: RUN_RETENTION_DAYS * 24 } }, 'runs', nowMs);
}

export function isExpired(record: CompletedRecord, nowMs: number): boolean {
  return record.expiresAtSeconds * 1000 <= nowMs;
}

export function isLeased(record: OpenRecord, nowMs: number): boolean {
  return record.leaseExpiresAtMs > nowMs;
}
