import type { Answer } from '../../kernel/answer.ts';
import type { Fingerprint } from '../../kernel/fingerprint.ts';
import type { OperationId, OwnerToken, PaymentId } from '../../kernel/ids.ts';

/** A claim without a stored answer. It never expires: its owner, a retry or the resolver completes it. */
export interface OpenRecord {
  readonly status: 'INPROGRESS';
  readonly operationId: OperationId;
  readonly paymentId: PaymentId;
  readonly fingerprint: Fingerprint;
  readonly owner: OwnerToken;
  readonly claimedAtMs: number;
  /** 0 once the claim was released. */
  readonly leaseExpiresAtMs: number;
  /** Whether its owner released it, because nothing was sent. */
  readonly released: boolean;
}

export interface CompletedRecord {
  readonly status: 'COMPLETED';
  readonly operationId: OperationId;
  readonly paymentId: PaymentId;
  readonly fingerprint: Fingerprint;
  /** The owner that completed it. */
  readonly owner: OwnerToken;
  readonly claimedAtMs: number;
  readonly answer: Answer;
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
  /** The writer of the record. A writer whose response was lost recognizes its own record by it. */
  readonly owner: OwnerToken;
  readonly recordedAtMs: number;
  /** The request's fingerprint and stored answer, when a caller requested the effect. */
  readonly request?: { readonly fingerprint: Fingerprint; readonly answer: Answer };
  /** Unix seconds. Absent for a permanent record, without which nothing else would refuse a second effect. */
  readonly expiresAtSeconds?: number;
}

/** How long a payment's answer is replayed: seven days. After that the key is refused and never executed again. */
const PAYMENT_RETENTION_SECONDS = 7 * 24 * 60 * 60;
/** Retention is extended by up to this share, so that records made together do not expire together. */
const RETENTION_JITTER = 0.1;

/** The record of a keyed request, with the fingerprint of all of it, is gone after this. DynamoDB may delete it later. Days. */
export const RECORDS_KEPT_DAYS = Math.ceil((PAYMENT_RETENTION_SECONDS * (1 + RETENTION_JITTER)) / (24 * 60 * 60));

/** How long an effect record is kept: longer than any transport redelivers. The payment's chain keeps the effect permanently. */
const EFFECT_RETENTION_SECONDS = 30 * 24 * 60 * 60;

/** How long a run is kept. A repeated request for it within this time starts nothing. Days. */
export const RUN_RETENTION_DAYS = 30;

/** @param random from 0 to 1 */
export function paymentExpirySeconds(nowMs: number, random: number): number {
  return expirySeconds(nowMs, PAYMENT_RETENTION_SECONDS, random);
}

/** @param random from 0 to 1 */
export function effectExpirySeconds(nowMs: number, random: number): number {
  return expirySeconds(nowMs, EFFECT_RETENTION_SECONDS, random);
}

/** The expiry of the record of an accepted run. @param random from 0 to 1 */
export function runExpirySeconds(nowMs: number, random: number): number {
  return expirySeconds(nowMs, RUN_RETENTION_DAYS * 24 * 60 * 60, random);
}

function expirySeconds(nowMs: number, retentionSeconds: number, random: number): number {
  return Math.ceil(nowMs / 1000 + retentionSeconds * (1 + RETENTION_JITTER * random));
}

export function isExpired(record: CompletedRecord, nowMs: number): boolean {
  return record.expiresAtSeconds * 1000 <= nowMs;
}

export function isLeased(record: OpenRecord, nowMs: number): boolean {
  return record.leaseExpiresAtMs > nowMs;
}
