import type { Mode, OperationId, OwnerToken, PaymentId, TenantId } from '../../kernel/ids.ts';
import type { CompletedRecord, IdempotencyRecord, OpenRecord } from '../../once/domain/idempotency.ts';
import type { Transition } from '../domain/transition.ts';

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
  /** The queue entries that go with the outcome. */
  readonly toReturn?: readonly ChargeToReturn[];
  readonly hold?: Hold;
  /** Kept with an answer that is not the end: somebody must find out, should no callback come. */
  readonly inquiry?: Inquiry;
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

/** The queue entry for a charge that must be sent back, written with the transition that found it. */
export interface ChargeToReturn {
  readonly paymentId: PaymentId;
  readonly chargeId: string;
  /** Taken money is refunded, held money is let go. */
  readonly by: 'refund' | 'void';
  /** Minor units. */
  readonly amountMinor: number;
  readonly currency: string;
  readonly foundAtMs: number;
}

/** The queue entry for money that is set aside, written with the transition that says so: somebody must end it. */
export interface Hold {
  readonly paymentId: PaymentId;
  readonly authorizedAtMs: number;
}

/** The queue entry for an operation that was answered "not known yet", or for a payment that waits for its payer. */
export interface Inquiry {
  readonly operationId: OperationId;
  readonly paymentId: PaymentId;
  /** When the operation was claimed: nobody sends later than a quarter of an hour after it. */
  readonly claimedAtMs: number;
  /** The answer is known, and what the payer does after it is not: looked at less often. */
  readonly waitsFor?: 'payer';
}

export interface TransitionPage {
  readonly afterSequence: number;
  readonly limit: number;
}
