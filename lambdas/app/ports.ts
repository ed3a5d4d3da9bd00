/**
 * What the use cases need from the world, by role. Adapters throw faults only (`core/faults.ts`); everything expected is
 * an outcome.
 */
import type { Scope } from '../contract/api.ts';
import type { Answer } from '../core/answer.ts';
import type { CompletedRecord, IdempotencyRecord, OpenRecord } from '../core/idempotency.ts';
import type { Mode, OperationId, OwnerToken, PaymentId, TenantId } from '../core/ids.ts';
import type { CaptureMode, Failure } from '../core/payment.ts';
import type { ProcessorAbilities } from '../core/settlement.ts';
import type { Transition } from '../core/transition.ts';

export interface Clock {
  /** Unix milliseconds; workers' clocks differ and may jump. */
  nowMs(): number;
  sleep(ms: number): Promise<void>;
}

export interface Entropy {
  /** A fresh owner token: never the same twice. */
  ownerToken(): OwnerToken;
  /** From 0 up to, not including, 1; for jitter only. */
  fraction(): number;
}

// ---------------------------------------------------------------------------------------------------------------- store

/** The merchant's own name for a payment, unique per tenant and mode among payments that have not failed. */
export interface ReferenceName {
  readonly tenantId: TenantId;
  readonly mode: Mode;
  readonly reference: string;
}

export interface Claim {
  readonly record: OpenRecord;
  /** The pending transition; left out when it exists already and only its record was lost. */
  readonly pending?: Transition;
  readonly reference?: {
    readonly name: ReferenceName;
    /** The failed or canceled payment that holds the reference; the claim replaces it only if it still does. */
    readonly replaces?: PaymentId;
  };
}

/** In order of precedence: what comes first is reported when several hold. */
export type ClaimOutcome =
  | { readonly kind: 'claimed' }
  | { readonly kind: 'record_exists'; readonly record: IdempotencyRecord }
  | { readonly kind: 'transition_exists' }
  | { readonly kind: 'reference_taken'; readonly paymentId: PaymentId };

export interface Takeover {
  /** The record as it was read: taken over only if nobody else did so since. */
  readonly stale: OpenRecord;
  readonly owner: OwnerToken;
  readonly leaseExpiresAtMs: number;
}

export type TakeoverOutcome =
  | { readonly kind: 'taken' }
  | { readonly kind: 'changed'; readonly record: IdempotencyRecord | undefined };

export interface Commit {
  readonly record: CompletedRecord;
  /** `open`: the claim is held by `record.owner`. `absent`: its record was deleted under the owner's feet. */
  readonly expects: 'open' | 'absent';
  /** The outcome; left out when the payment already stands where the answer says. */
  readonly transition?: Transition;
}

/** In order of precedence. */
export type CommitOutcome =
  | { readonly kind: 'committed' }
  /** Somebody else holds or completed the claim; undefined when no record is there. */
  | { readonly kind: 'fenced'; readonly record: IdempotencyRecord | undefined }
  | { readonly kind: 'transition_exists' };

export interface PaymentHistory {
  readonly first: Transition;
  readonly newest: Transition;
}

/** Idempotency records and transitions behind one port, because they are written in one transaction. */
export interface PaymentStore {
  /** Durable write one: record, pending transition and reference, all or nothing. */
  claim(claim: Claim): Promise<ClaimOutcome>;
  takeOver(takeover: Takeover): Promise<TakeoverOutcome>;
  /** Durable write two: stored answer and outcome, all or nothing, only while the owner still owns. */
  commit(commit: Commit): Promise<CommitOutcome>;
  /** Says that nothing was sent and lets the next attempt in at once; does nothing when the claim is no longer the owner's. */
  release(operationId: OperationId, owner: OwnerToken): Promise<void>;
  readRecord(operationId: OperationId): Promise<IdempotencyRecord | undefined>;
  /** Consistent: what was committed is there. */
  readPayment(paymentId: PaymentId): Promise<PaymentHistory | undefined>;
  /** Consistent, oldest first. */
  listTransitions(paymentId: PaymentId, page: TransitionPage): Promise<readonly Transition[]>;
}

export interface TransitionPage {
  readonly afterSequence: number;
  readonly limit: number;
}

/** Completed records only, in this process, so that a warm replay costs no call. */
export interface ReplayCache {
  get(operationId: OperationId): CompletedRecord | undefined;
  put(record: CompletedRecord): void;
}

// ------------------------------------------------------------------------------------------------------------ processor

export interface ChargeOrder {
  /** The key at the processor: the same on every attempt, for ever. */
  readonly operationId: OperationId;
  readonly paymentId: PaymentId;
  readonly amountMinor: number;
  readonly currency: string;
  readonly source: string;
  readonly capture: CaptureMode;
}

export type ChargeOutcome =
  | { readonly kind: 'succeeded'; readonly chargeId: string }
  | { readonly kind: 'authorized'; readonly chargeId: string }
  /** The payer's bank said no (402). */
  | { readonly kind: 'declined'; readonly chargeId?: string; readonly failure: Failure }
  /** The processor understood and refused the request itself (400, 404, 422). */
  | { readonly kind: 'rejected'; readonly chargeId?: string; readonly failure: Failure };

interface CallLimit {
  readonly timeoutMs: number;
}

export interface Processor {
  readonly name: string;
  readonly account: string;
  readonly endpoint: string;
  readonly apiVersion: string;
  readonly abilities: ProcessorAbilities;
  /**
   * A look at the circuit breaker before anything is claimed; costs nothing while it is closed, and one read, never a
   * charge, when it is half open.
   *
   * @throws RetryableError while the processor must not be called
   */
  ready(): Promise<void>;
  /**
   * @throws RetryableError when nothing was applied (401, 403, 429, unreachable, open breaker)
   * @throws AmbiguousError when it may have been (timeout, 5xx, 409, unreadable answer)
   */
  charge(order: ChargeOrder, limit: CallLimit): Promise<ChargeOutcome>;
  /** Looks a charge up by our key. @throws RetryableError or AmbiguousError when it could not be looked up */
  findCharge(order: ChargeOrder, limit: CallLimit): Promise<ChargeOutcome | { readonly kind: 'absent' }>;
}

// ------------------------------------------------------------------------------------------------------- once-only runs

/** What a claim came to: ours to do, already done, or not ours. */
export type ClaimStep<Outcome> =
  | { readonly kind: 'claimed' }
  /** A stored answer is replayed. */
  | { readonly kind: 'completed'; readonly outcome: Outcome; readonly answer: Answer }
  | { readonly kind: 'refused'; readonly outcome: Outcome };

/** One operation, in the order in which it is run. */
export interface OperationSteps<Work, Outcome> {
  claim(): Promise<ClaimStep<Outcome>>;
  execute(): Promise<Work>;
  commit(work: Work): Promise<Outcome>;
  /** After `execute` threw; must not throw itself. */
  release(): Promise<void>;
}

/** Runs one operation so that it takes effect once. One run, one instance of everything: nothing is shared between two keys. */
export interface OperationRunner {
  run<Work, Outcome>(operationId: OperationId, steps: OperationSteps<Work, Outcome>): Promise<Outcome>;
}

// -------------------------------------------------------------------------------------------------------------- tenants

export interface ApiKeyRecord {
  readonly tenantId: TenantId;
  readonly mode: Mode;
  readonly scopes: readonly Scope[];
  readonly revokedAtMs?: number;
}

export interface ApiKeyRegistry {
  /** @param keyHash lower-case hexadecimal SHA-256 of the presented key */
  findByHash(keyHash: string): Promise<ApiKeyRecord | undefined>;
}
