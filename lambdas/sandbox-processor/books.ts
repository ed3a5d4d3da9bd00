import type { Charge, SwitchedFailures } from '../contract/sandbox-api.ts';

/** Keys are honoured this long after their first charge, as the large processors do (Stripe: 24 hours). */
export const KEY_RETENTION_MS = 24 * 60 * 60 * 1_000;

/** An idempotency key with the fingerprint of the body that it came with. */
export interface KeyedRequest {
  readonly key: string;
  readonly fingerprint: string;
}

/** The charge that a key made. */
export interface KeyClaim {
  readonly chargeId: string;
  readonly fingerprint: string;
}

export interface BookedCharge {
  readonly charge: Charge;
  /** Grows with each change; a change names the version that it saw. */
  readonly version: number;
}

/** A capture, void or refund that happened, with the answer that its caller got. */
export interface BookedOperation extends KeyedRequest {
  /** JSON, as it was answered. */
  readonly body: string;
}

/**
 * The sandbox's books. Every read is consistent: what was written is there at once, so that a test may count the
 * charges right after a call. Times are Unix milliseconds.
 */
export interface Books {
  /** The unexpired claim of a key. */
  claimOf(key: string, nowMs: number): Promise<KeyClaim | undefined>;
  /** Books a new charge. With a request's key only if the key has no unexpired claim: one of two rivals gets 'key_taken'. */
  add(charge: Charge, request: KeyedRequest | undefined, nowMs: number): Promise<'added' | 'key_taken'>;
  charge(id: string): Promise<BookedCharge | undefined>;
  chargesOfKey(key: string): Promise<readonly Charge[]>;
  chargesOfPayment(paymentId: string): Promise<readonly Charge[]>;
  operation(chargeId: string, key: string): Promise<BookedOperation | undefined>;
  /** Changes a charge that still has the version seen, and books the operation that did it; else 'conflict' and no effect. */
  change(seen: BookedCharge, changed: Charge, operation: BookedOperation | undefined): Promise<'changed' | 'conflict'>;
  /** Counts one more send of a key and answers how many there were, this one included. */
  countSend(key: string, nowMs: number): Promise<number>;
  switchFailures(failures: SwitchedFailures): Promise<void>;
  switchedFailures(): Promise<SwitchedFailures>;
  /** Uses up one switched failure and answers its source; undefined when none is left. */
  takeSwitchedFailure(): Promise<string | undefined>;
}

/** What `switchedFailures` answers while nothing is switched on. */
export const NO_FAILURES: SwitchedFailures = { count: 0, source: 'tok_ok' };
