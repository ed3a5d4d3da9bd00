import type { Mode, OperationId, OrderId, PaymentId, TenantId } from '../../kernel/ids.ts';
import type { CompletedRecord, OpenRecord } from '../../once/domain/idempotency.ts';
import type {
  CommitOutcome,
  ExpectedRecord,
  ClaimOutcome as RecordClaimOutcome,
  RecordStore,
} from '../../once/use/record-store.ts';
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
export type ClaimOutcome = RecordClaimOutcome | { readonly kind: 'reference_taken'; readonly paymentId: PaymentId };

export interface Commit {
  readonly record: CompletedRecord;
  readonly expects: ExpectedRecord;
  /** The outcome; left out when the payment already stands where the answer says. */
  readonly transition?: Transition;
  /** The queue entries that go with the outcome. */
  readonly toReturn?: readonly ChargeToReturn[];
  readonly hold?: Hold;
  /** Kept with an answer that is not the end: somebody must find out, should no callback come. */
  readonly inquiry?: Inquiry;
}

export interface PaymentHistory {
  readonly first: Transition;
  readonly newest: Transition;
}

/** Idempotency records and transitions behind one port, because they are written in one transaction. */
export interface PaymentStore extends RecordStore {
  /** Durable write one: record, pending transition and reference, all or nothing. */
  claim(claim: Claim): Promise<ClaimOutcome>;
  /** Durable write two: stored answer and outcome, all or nothing, only while the owner still owns. */
  commit(commit: Commit): Promise<CommitOutcome>;
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

/** The queue entry for an order that was answered and is not settled, or whose money came back: it must be looked at again. */
export interface OpenOrder {
  readonly orderId: OrderId;
  /** Of the order, or of what has opened it since: the looks at it grow rarer from here on. Unix milliseconds. */
  readonly createdAtMs: number;
  /** Of the transition that left it open, or a time, where its payment opened it: an entry is closed only as it was read. */
  readonly sequence: number;
}

export interface TransitionPage {
  readonly afterSequence: number;
  readonly limit: number;
}
