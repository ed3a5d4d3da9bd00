import type { Answer } from '../../kernel/answer.ts';
import { RUN_RETENTION_DAYS } from '../../kernel/contract/jobs.ts';
import type { Fingerprint } from '../../kernel/fingerprint.ts';
import type { OperationId, OwnerToken, PaymentId } from '../../kernel/ids.ts';

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

/**
 * Says that an effect of our own has taken place: a callback's transition, a correction. It is written with the effect, in
 * one transaction, so there is no claim before it and nothing to take over.
 */
export interface EffectRecord {
  readonly operationId: OperationId;
  /** Left out when it concerned no payment that is known. */
  readonly paymentId?: PaymentId;
  /** Who recorded it: a lost answer is recognised by it. */
  readonly owner: OwnerToken;
  readonly recordedAtMs: number;
  /** Of the request, when a client asked for it; with its stored answer. */
  readonly request?: { readonly fingerprint: Fingerprint; readonly answer: Answer };
  /** Unix seconds; left out when it must be remembered for ever, because nothing else would refuse a second one. */
  readonly expiresAtSeconds?: number;
}

/** How long a payment's answer is replayed: seven days. Afterwards the key is refused, never run again. */
const PAYMENT_RETENTION_SECONDS = 7 * 24 * 60 * 60;
/** Retention is lengthened by up to this share, so that records made together do not expire together. */
const RETENTION_JITTER = 0.1;

/** How long an effect is remembered: longer than any transport redelivers. What it did is remembered for ever, by the payment. */
const EFFECT_RETENTION_SECONDS = 30 * 24 * 60 * 60;

/** @param random from 0 to 1 */
export function paymentExpirySeconds(nowMs: number, random: number): number {
  return expirySeconds(nowMs, PAYMENT_RETENTION_SECONDS, random);
}

/** @param random from 0 to 1 */
export function effectExpirySeconds(nowMs: number, random: number): number {
  return expirySeconds(nowMs, EFFECT_RETENTION_SECONDS, random);
}

/** Of a run's acceptance. @param random from 0 to 1 */
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
