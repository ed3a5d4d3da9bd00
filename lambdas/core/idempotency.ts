import type { Answer } from './answer.ts';
import type { Fingerprint } from './fingerprint.ts';
import type { OperationId, OwnerToken, PaymentId } from './ids.ts';

/** A claim that has not reached its stored answer. Never expires: it is finished by its owner, a retry or a sweeper. */
export interface OpenRecord {
  readonly status: 'INPROGRESS';
  readonly operationId: OperationId;
  readonly paymentId: PaymentId;
  readonly fingerprint: Fingerprint;
  readonly owner: OwnerToken;
  readonly claimedAtMs: number;
  /** 0 once the claim was released. */
  readonly leaseExpiresAtMs: number;
  /** Released: its owner gave up before anything was sent to the processor. */
  readonly released: boolean;
}

export interface CompletedRecord {
  readonly status: 'COMPLETED';
  readonly operationId: OperationId;
  readonly paymentId: PaymentId;
  readonly fingerprint: Fingerprint;
  /** Who completed it. */
  readonly owner: OwnerToken;
  readonly claimedAtMs: number;
  readonly answer: Answer;
  /** Unix seconds, as DynamoDB's time to live wants them; judged by us, deletion is only garbage collection. */
  readonly expiresAtSeconds: number;
}

export type IdempotencyRecord = OpenRecord | CompletedRecord;

/** How long a payment's answer is replayed: seven days. Afterwards the key is refused, never run again. */
const PAYMENT_RETENTION_SECONDS = 7 * 24 * 60 * 60;
/** Retention is lengthened by up to this share, so that records made together do not expire together. */
const RETENTION_JITTER = 0.1;

/** @param random from 0 to 1 */
export function paymentExpirySeconds(nowMs: number, random: number): number {
  return Math.ceil(nowMs / 1000 + PAYMENT_RETENTION_SECONDS * (1 + RETENTION_JITTER * random));
}

export function isExpired(record: CompletedRecord, nowMs: number): boolean {
  return record.expiresAtSeconds * 1000 <= nowMs;
}

export function isLeased(record: OpenRecord, nowMs: number): boolean {
  return record.leaseExpiresAtMs > nowMs;
}
