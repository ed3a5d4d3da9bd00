import type { Mode, OperationId, OrderId, PaymentId, TenantId } from '../../kernel/ids.ts';
import type { LookUpSchedule } from '../../kernel/looks.ts';
import type { CompletedRecord, OpenRecord } from '../../once/domain/idempotency.ts';
import type {
  CommitOutcome,
  ExpectedRecord,
  ClaimOutcome as RecordClaimOutcome,
  RecordStore,
} from '../../once/use/record-store.ts';
import type { Transition } from '../domain/transition.ts';

/** The merchant's name for a payment, unique per tenant and mode among payments that are not failed or canceled. */
export interface ReferenceName {
  readonly tenantId: TenantId;
  readonly mode: Mode;
  readonly reference: string;
}

export interface Claim {
  readonly record: OpenRecord;
  /** The pending transition. Omitted when the transition exists and only the record was lost. */
  readonly pending?: Transition;
  readonly reference?: {
    readonly name: ReferenceName;
    /**
     * The failed or canceled payment that holds the reference. The claim takes the reference only if this payment still
     * holds it.
     */
    readonly replaces?: PaymentId;
  };
}

/** The outcomes of a claim, in order of precedence: the first that applies is reported. */
export type ClaimOutcome = RecordClaimOutcome | { readonly kind: 'reference_taken'; readonly paymentId: PaymentId };

export interface Commit {
  readonly record: CompletedRecord;
  readonly expects: ExpectedRecord;
  /** The outcome. Omitted when the payment already has the answered state. */
  readonly transition?: Transition;
  /** The queue entries to write together with the outcome. */
  readonly toReturn?: readonly ChargeToReturn[];
  readonly hold?: Hold;
  /**
   * The inquiry to queue, if the answer is not final, or if a rival's answer is about a different charge than the
   * owner's. The resolver determines the outcome if no callback arrives.
   */
  readonly inquiry?: Inquiry;
}

export interface PaymentHistory {
  readonly first: Transition;
  readonly newest: Transition;
}

/** One port for idempotency records and transitions, because one transaction writes both. */
export interface PaymentStore extends RecordStore {
  /** Performs the first durable write: record, pending transition and reference in one transaction. */
  claim(claim: Claim): Promise<ClaimOutcome>;
  /**
   * Performs the second durable write: stored answer and outcome in one transaction, only while the owner holds the
   * claim.
   */
  commit(commit: Commit): Promise<CommitOutcome>;
  /** Reads with strong consistency. */
  readPayment(paymentId: PaymentId): Promise<PaymentHistory | undefined>;
  /** Reads with strong consistency, oldest first. */
  listTransitions(paymentId: PaymentId, page: TransitionPage): Promise<readonly Transition[]>;
}

/** The queue entry for a stray charge to return, written with the transition that makes the return necessary. */
export interface ChargeToReturn {
  readonly paymentId: PaymentId;
  readonly chargeId: string;
  /** Captured money is refunded; a hold is voided. */
  readonly by: 'refund' | 'void';
  readonly foundAtMs: number;
  /** As in {@link Inquiry}. */
  readonly undecidable?: boolean;
}

/** Returns the schedule of attempts to return a charge, which is the schedule of inquiries of the same age. */
export function returnSchedule({ chargeId, foundAtMs }: ChargeToReturn): LookUpSchedule {
  return { kind: 'answer', name: chargeId, sinceMs: foundAtMs };
}

/**
 * The queue entry for an authorized payment, written with its transition. If the payment is not captured, the hold is
 * voided.
 */
export interface Hold {
  readonly paymentId: PaymentId;
  readonly authorizedAtMs: number;
  /** As in {@link Inquiry}. */
  readonly undecidable?: boolean;
}

/**
 * The queue entry for an operation that was answered 202, for a payment that waits for its payer, or for a charge that
 * has no result at the processor yet, or has a refund or dispute without a result.
 */
export interface Inquiry {
  /** The operation; for an inquiry about a charge, the processor's id of the charge. */
  readonly operationId: OperationId;
  readonly paymentId: PaymentId;
  /** Time of the operation's claim. The send window ends 15 minutes later. Unix milliseconds. */
  readonly claimedAtMs: number;
  /**
   * `payer` or `bank` if the inquiry waits only for the payer or for a bank: such inquiries are made less often. With
   * `books`, all charges of the payment are read and recorded, because an operator has decided about the payment, or an
   * inquiry recorded only a part of a charge's facts.
   */
  readonly waitsFor?: 'payer' | 'bank' | 'books';
  /**
   * The latest inquiry could not determine the outcome. An alarm was raised, and an operator must act.
   * @default false
   */
  readonly undecidable?: boolean;
}

export function inquirySchedule({ operationId, claimedAtMs, waitsFor }: Inquiry): LookUpSchedule {
  return { kind: waitsFor ?? 'answer', name: operationId, sinceMs: claimedAtMs };
}

/** Returns whether the inquiry waits only for the payer or for a bank. */
export function isRoutine({ waitsFor }: Pick<Inquiry, 'waitsFor'>): boolean {
  return waitsFor === 'payer' || waitsFor === 'bank';
}

/** The queue entry for an order that was answered and is not settled, or that a failed refund reopened. */
export interface OpenOrder {
  readonly orderId: OrderId;
  /**
   * Time at which the order was created or reopened. The older the entry, the less often the order is driven. Unix
   * milliseconds.
   */
  readonly createdAtMs: number;
  /**
   * The sequence number of the transition that left the order open; for an order that its payment reopened, a time in
   * Unix milliseconds. An entry is deleted only while this value is unchanged.
   */
  readonly sequence: number;
}

export function orderSchedule({ orderId, createdAtMs }: OpenOrder): LookUpSchedule {
  return { kind: 'order', name: orderId, sinceMs: createdAtMs };
}

export interface TransitionPage {
  readonly afterSequence: number;
  readonly limit: number;
}
