import type { Mode, OperationId, OrderId, PaymentId, TenantId } from '../../kernel/ids.ts';
import type { LookSchedule } from '../../kernel/looks.ts';
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
  /** The pending transition. Omitted when it exists and only the record was lost. */
  readonly pending?: Transition;
  readonly reference?: {
    readonly name: ReferenceName;
    /** The failed or canceled payment that holds the reference. The claim replaces it only while it holds the reference. */
    readonly replaces?: PaymentId;
  };
}

/** In order of precedence: the first that applies is reported. */
export type ClaimOutcome = RecordClaimOutcome | { readonly kind: 'reference_taken'; readonly paymentId: PaymentId };

export interface Commit {
  readonly record: CompletedRecord;
  readonly expects: ExpectedRecord;
  /** The outcome. Omitted when the payment already has the answered state. */
  readonly transition?: Transition;
  /** The queue entries that go with the outcome. */
  readonly toReturn?: readonly ChargeToReturn[];
  readonly hold?: Hold;
  /**
   * Written with an answer that is not final, or with the answer of a rival whose charge is another than the owner's: the resolver
   * determines the outcome if no callback arrives.
   */
  readonly inquiry?: Inquiry;
}

export interface PaymentHistory {
  readonly first: Transition;
  readonly newest: Transition;
}

/** One port for idempotency records and transitions, because one transaction writes both. */
export interface PaymentStore extends RecordStore {
  /** First durable write: record, pending transition and reference in one transaction. */
  claim(claim: Claim): Promise<ClaimOutcome>;
  /** Second durable write: stored answer and outcome in one transaction, only while the owner holds the claim. */
  commit(commit: Commit): Promise<CommitOutcome>;
  /** A strongly consistent read. */
  readPayment(paymentId: PaymentId): Promise<PaymentHistory | undefined>;
  /** A strongly consistent read, oldest first. */
  listTransitions(paymentId: PaymentId, page: TransitionPage): Promise<readonly Transition[]>;
}

/** The queue entry for a stray charge to return, written with the transition that leaves money of the charge to return. */
export interface ChargeToReturn {
  readonly paymentId: PaymentId;
  readonly chargeId: string;
  /** Captured money is refunded; a hold is voided. */
  readonly by: 'refund' | 'void';
  readonly foundAtMs: number;
  /** Same as for an inquiry. */
  readonly undecidable?: boolean;
}

/** A return is attempted on the schedule of inquiries of the same age. */
export function returnSchedule({ chargeId, foundAtMs }: ChargeToReturn): LookSchedule {
  return { kind: 'answer', name: chargeId, sinceMs: foundAtMs };
}

/**
 * The queue entry for an authorized payment, written with its transition. If it is not captured, the hold is voided.
 */
export interface Hold {
  readonly paymentId: PaymentId;
  readonly authorizedAtMs: number;
  /** Same as for an inquiry. */
  readonly undecidable?: boolean;
}

/**
 * The queue entry for an operation that was answered 202, for a payment that waits for its payer, and for a charge that
 * the processor shows without a result, or with a refund or a dispute without a result.
 */
export interface Inquiry {
  /** For a charge, its id at the processor. */
  readonly operationId: OperationId;
  readonly paymentId: PaymentId;
  /** Time of the operation's claim. The send window ends 15 minutes later. Unix milliseconds. */
  readonly claimedAtMs: number;
  /**
   * Set when only the action of the payer, or of a bank, is outstanding: such an entry is looked up less often. With `books`,
   * all charges of the payment are read and recorded: an operator has decided about it, or a look at a charge recorded only a part.
   */
  readonly waitsFor?: 'payer' | 'bank' | 'books';
  /** The latest look could not determine the outcome. An alarm was raised, and an operator must act. @default false */
  readonly undecidable?: boolean;
}

export function inquirySchedule({ operationId, claimedAtMs, waitsFor }: Inquiry): LookSchedule {
  return { kind: waitsFor ?? 'answer', name: operationId, sinceMs: claimedAtMs };
}

/** Whether only the action of the payer, or of a bank, is outstanding. */
export function isRoutine({ waitsFor }: Pick<Inquiry, 'waitsFor'>): boolean {
  return waitsFor === 'payer' || waitsFor === 'bank';
}

/** The queue entry for an order that was answered and is not settled, or that a failed refund opened again. */
export interface OpenOrder {
  readonly orderId: OrderId;
  /** Time at which the order was created or reopened. It is driven less often with growing age. Unix milliseconds. */
  readonly createdAtMs: number;
  /**
   * The sequence of the transition that left the order open; for an order that its payment opened, a time in Unix
   * milliseconds. An entry is deleted only while this value is unchanged.
   */
  readonly sequence: number;
}

export function orderSchedule({ orderId, createdAtMs }: OpenOrder): LookSchedule {
  return { kind: 'order', name: orderId, sinceMs: createdAtMs };
}

export interface TransitionPage {
  readonly afterSequence: number;
  readonly limit: number;
}
