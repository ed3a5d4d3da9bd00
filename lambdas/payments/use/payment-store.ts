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
import { chargeOperation, paymentOfPart } from '../ids.ts';

/** Unique per tenant and mode, not counting payments that failed or were canceled. */
export interface ReferenceName {
  readonly tenantId: TenantId;
  readonly mode: Mode;
  readonly reference: string;
}

export interface Claim {
  readonly record: OpenRecord;
  /** Omitted when the transition already exists and only its idempotency record was lost. */
  readonly pending?: Transition;
  readonly reference?: {
    readonly name: ReferenceName;
    /**
     * The payment that has the reference, but failed, was canceled, or was lost. The claim takes the reference only if
     * this payment still has it.
     */
    readonly replaces?: PaymentId;
  };
}

/** In order of precedence: if several apply, the first is reported. */
export type ClaimOutcome = RecordClaimOutcome | { readonly kind: 'reference_taken'; readonly paymentId: PaymentId };

export interface Commit {
  readonly record: CompletedRecord;
  readonly expects: ExpectedRecord;
  /**
   * The transition that records the outcome, or the response 202. Omitted when the payment is already in the state that
   * the response reports.
   */
  readonly transition?: Transition;
  readonly toReturn?: readonly ChargeToReturn[];
  readonly hold?: Hold;
  /**
   * Inquiries to queue in the same transaction: one if the response is not final, and one if this request may still
   * take effect at the processor although a rival has recorded a different result. If no callback arrives, the resolver
   * determines the outcomes.
   */
  readonly inquiries?: readonly Inquiry[];
}

export interface PaymentHistory {
  readonly first: Transition;
  readonly newest: Transition;
}

/** The transitions that are needed to decide on a change to a payment, without personal data. */
export interface PaymentEnds {
  readonly first: Transition;
  readonly newest: Transition;
  /** The whole chain, oldest first, if it is so short that it was read together with the newest transition. */
  readonly transitions?: readonly Transition[];
  /**
   * The newest transition that began a change; undefined if there is none or it is unknown, or if `transitions` is
   * present.
   */
  readonly beginning?: Transition;
  /**
   * The newest transition that began a change in the bucket of the operation; undefined if none was found, or if
   * `transitions` is present.
   */
  readonly ofBucket?: Transition;
}

/** Both are in one port, because one transaction writes both. */
export interface PaymentStore extends RecordStore {
  /** Performs the first durable write: the record, the pending transition and the reference, in one transaction. */
  claim(claim: Claim): Promise<ClaimOutcome>;
  /**
   * Performs the second durable write: the stored response and the outcome, in one transaction. Writes nothing unless
   * the record is as `expects` requires.
   */
  commit(commit: Commit): Promise<CommitOutcome>;
  /** Strongly consistent. */
  readPayment(paymentId: PaymentId): Promise<PaymentHistory | undefined>;
  /**
   * Reads the transitions that are needed to decide on a change, with strong consistency, in at most three calls, no
   * matter how long the chain is.
   */
  readEnds(paymentId: PaymentId, operationId: OperationId): Promise<PaymentEnds | undefined>;
  /** Returns the payment's first transition with its notes, which are read with strong consistency. */
  readNotes(first: Transition): Promise<Transition>;
  /** Oldest first, with strong consistency. */
  listTransitions(paymentId: PaymentId, page: TransitionPage): Promise<readonly Transition[]>;
}

/**
 * The queue entry of a stray charge that must be returned. Written with the transition that makes the return necessary.
 */
export interface ChargeToReturn {
  readonly paymentId: PaymentId;
  readonly chargeId: string;
  /** `refund` for captured money, `void` for a hold. */
  readonly by: 'refund' | 'void';
  readonly foundAtMs: number;
  /** True if an operator must act, as in {@link Inquiry}. */
  readonly undecidable?: boolean;
  /** Number of times that the charge was seen again, as in {@link Inquiry}. */
  readonly seen?: number;
}

/** The schedule of an inquiry of the same age about an operation. */
export function returnSchedule({ chargeId, foundAtMs }: ChargeToReturn): LookUpSchedule {
  return { kind: 'answer', name: chargeId, sinceMs: foundAtMs };
}

/**
 * The queue entry of an authorized payment, written with the payment's transition. A hold that is not captured in time
 * is voided.
 */
export interface Hold {
  readonly paymentId: PaymentId;
  readonly authorizedAtMs: number;
  /**
   * Time from which a run of the job `expire-authorizations` handles the hold again, in Unix milliseconds. Absent until
   * a run has postponed the hold.
   */
  readonly dueAtMs?: number;
  /** True if an operator must act, as in {@link Inquiry}. */
  readonly undecidable?: boolean;
}

/**
 * A queue entry for an inquiry. It is about an operation that was answered with 202; a payment that waits for its
 * payer; or a charge, refund or dispute that has no result at the processor yet.
 */
export interface Inquiry {
  /** The id of the operation or, for an inquiry about a charge, the processor's charge id. */
  readonly operationId: OperationId;
  readonly paymentId: PaymentId;
  /**
   * Time of the operation's claim or, for an inquiry about a charge or all charges, of its creation, in Unix
   * milliseconds.
   */
  readonly claimedAtMs: number;
  /**
   * `payer` or `bank` if the inquiry waits only for the payer or for a bank; such inquiries are made less often.
   * `books` if all charges of the payment must be read and recorded. Examples: an operator has decided about the
   * payment; only a part of a charge's facts was recorded; a charge without a response may still take money, although a
   * rival has recorded a different charge.
   */
  readonly waitsFor?: 'payer' | 'bank' | 'books';
  /**
   * True if the latest inquiry could not determine the outcome. An alarm was raised, and an operator must act.
   * @default false
   */
  readonly undecidable?: boolean;
  /**
   * Number of times that the open object was seen again while the entry existed. An inquiry that began before the
   * object was last seen cannot delete the entry.
   * @default 0
   */
  readonly seen?: number;
}

export function inquirySchedule({ operationId, claimedAtMs, waitsFor }: Inquiry): LookUpSchedule {
  return { kind: waitsFor ?? 'answer', name: operationId, sinceMs: claimedAtMs };
}

const BOOKS = 'books';
const OF_CHARGE = 'charge ';

/**
 * A processor that chooses its charge ids can use the id of Payonce's operation as the id of the charge. Such a charge
 * has a separate key, because the operation and the charge can be open at the same time, and neither entry may replace
 * the other.
 */
export function inquirySubject({ operationId: id, paymentId, waitsFor }: Inquiry): string {
  if (waitsFor === 'books') return BOOKS;
  const isOfPayment = id === chargeOperation(paymentId) || paymentOfPart(id) === paymentId;
  const isTaken = isOfPayment || (id as string) === BOOKS || id.startsWith(OF_CHARGE);
  return waitsFor === 'bank' && isTaken ? `${OF_CHARGE}${id}` : id;
}

export function isRoutine({ waitsFor }: Pick<Inquiry, 'waitsFor'>): boolean {
  return waitsFor === 'payer' || waitsFor === 'bank';
}

/**
 * The queue entry of an open order: its request was answered before the order was settled, or a transition of its
 * payment reopened it.
 */
export interface OpenOrder {
  readonly orderId: OrderId;
  /**
   * Time at which the order was created or reopened, in Unix milliseconds. The longer ago this is, the less often the
   * resolver processes the order.
   */
  readonly createdAtMs: number;
  /**
   * Sequence number of the transition that left the order open. If a transition of the payment reopened the order, the
   * time of that transition in Unix milliseconds instead. An entry is deleted only if this value has not changed.
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
