import type { PrintedFingerprint } from '../../kernel/fingerprint.ts';
import type { Mode, PaymentId, TenantId } from '../../kernel/ids.ts';
import type { Posting } from './posting.ts';

export const PAYMENT_STATUSES = [
  /** Not asked yet, or asked and not known: nothing may be concluded from it. */
  'processing',
  /** The payer must do something, on a page of the processor. */
  'requires_action',
  /** The money is set aside and not taken yet. */
  'requires_capture',
  'succeeded',
  'failed',
  'canceled',
  /** What became of it cannot be found out: it leaves by evidence, or by a person's decision. */
  'needs_review',
] as const;

export type PaymentStatus = (typeof PAYMENT_STATUSES)[number];

export type CaptureMode = 'automatic' | 'manual';

export interface Failure {
  readonly code: string;
  readonly message: string;
}

/** The failure code of a payment that was never sent to the processor, or provably never arrived there. */
export const NOT_ATTEMPTED = 'not_attempted';

/** The failure code of what a person said had not been done. */
export const DECIDED_BY_OPERATOR = 'decided_by_operator';

/** The failure code of a payment of which another amount, or another currency, was taken than was asked for. */
export const WRONG_AMOUNT = 'wrong_amount';

/** Whether it is our own conclusion: all other failures are a processor's word. */
export function isOwnWord({ code }: Failure): boolean {
  return code === NOT_ATTEMPTED || code === DECIDED_BY_OPERATOR;
}

/** A processor's word for a failure cannot be one of ours, which mean something else. */
export function ofProcessor(failure: Failure): Failure {
  return isOwnWord(failure) ? { ...failure, code: `processor_${failure.code}` } : failure;
}

export const CANCEL_REASONS = ['requested', 'expired', 'abandoned'] as const;
export type CancelReason = (typeof CANCEL_REASONS)[number];

/** A payment as it stands after a transition. What never changes and may be long is kept on the first transition only. */
export interface Payment {
  readonly id: PaymentId;
  readonly tenantId: TenantId;
  readonly mode: Mode;
  readonly status: PaymentStatus;
  /** Minor units. */
  readonly amountMinor: number;
  /** Minor units. */
  readonly amountCapturedMinor: number;
  /** Minor units. */
  readonly amountRefundedMinor: number;
  readonly currency: string;
  readonly source: string;
  readonly capture: CaptureMode;
  readonly reference?: string;
  readonly processorName: string;
  readonly chargeId?: string;
  readonly failure?: Failure;
  /** Only while it is canceled. */
  readonly cancelReason?: CancelReason;
  /** Where the payer approves or refuses; only while that is required. */
  readonly actionUrl?: string;
  /** What the processor said that it keeps of it. Minor units. */
  readonly feeMinor?: number;
  readonly createdAtMs: number;
}

export const TRANSITION_TYPES = [
  'payment.created',
  'payment.processing',
  'payment.requires_action',
  'payment.authorized',
  'payment.completed',
  'payment.failed',
  'payment.canceled',
  'payment.review_required',
  /** Money, or a hold on it, that turned up where none may be: recorded, to be sent back, and alarmed. */
  'payment.late_success',
  'payment.fee_reported',
  'capture.pending',
  'capture.failed',
  'void.pending',
  'void.failed',
  'refund.pending',
  'refund.completed',
  'refund.failed',
  'dispute.opened',
  'dispute.closed',
  'ledger.corrected',
] as const;

export type TransitionType = (typeof TRANSITION_TYPES)[number];

/** They say that something may be under way; all others are outcomes, and events. */
export const PENDING_TYPES: ReadonlySet<TransitionType> = new Set([
  'payment.created',
  'capture.pending',
  'void.pending',
  'refund.pending',
]);

// ------------------------------------------------------------------------------------------------------------ sub-objects

export interface Refund {
  readonly kind: 'refund';
  /** Ours, or the processor's when it was made there. */
  readonly refundId: string;
  /** The charge that is given back. */
  readonly chargeId: string;
  /** Minor units. */
  readonly amountMinor: number;
  readonly status: 'pending' | 'succeeded' | 'failed';
  /** Why, in the merchant's words. */
  readonly reason?: string;
  readonly failure?: Failure;
  /** When it was asked for here; unknown of one that was made at the processor. */
  readonly createdAtMs?: number;
  /** The request that asked for it here; unknown of one that was made at the processor, or of long ago. */
  readonly request?: PrintedFingerprint;
  /** "Not known yet" was stored as the answer to that request. */
  readonly answered?: true;
  /** When a person said how it ended. */
  readonly decision?: OperatorDecision;
}

/** A capture or a cancellation that was asked for: while it is pending, it keeps others out. */
export interface HoldChange {
  readonly kind: 'capture' | 'void';
  readonly operationId: string;
  /** What is to be captured; of a void, what is let go. Minor units. */
  readonly amountMinor: number;
  readonly status: 'pending' | 'failed';
  /** Of a void that nobody asked for: the hold is given back because nobody captured it in time. @default requested */
  readonly reason?: 'expired';
  readonly failure?: Failure;
  /** The request that asked for it here; unknown of one of long ago. */
  readonly request?: PrintedFingerprint;
  /** "Not known yet" was stored as the answer to that request. */
  readonly answered?: true;
  /** When a person said how it ended. */
  readonly decision?: OperatorDecision;
}

export interface Dispute {
  readonly kind: 'dispute';
  readonly disputeId: string;
  readonly chargeId: string;
  /** Minor units. */
  readonly amountMinor: number;
  readonly status: 'open' | 'won' | 'lost';
}

/** A charge that its payment must not have: taken, or held, after the payment had ended, or beside its own. */
export interface StrayCharge {
  readonly kind: 'stray_charge';
  readonly chargeId: string;
  /** Minor units. */
  readonly amountMinor: number;
  /** Of the charge, which need not be the payment's. */
  readonly currency: string;
  readonly status: 'authorized' | 'captured';
}

/** What an operator set right, and why. */
export interface Correction {
  readonly kind: 'correction';
  readonly correctionId: string;
  readonly reason: string;
  /** Who answers for it. */
  readonly operator: string;
  /** The sequence of the transition whose postings it undoes. */
  readonly reverses?: number;
}

/** What an operator decided about a payment, or a change of it, of which nobody could find out. */
export interface OperatorDecision {
  readonly kind: 'decision';
  readonly decisionId: string;
  readonly reason: string;
  /** Who answers for it. */
  readonly operator: string;
}

/** What a transition is about beside the payment itself, as it stands after it. */
export type Subject = HoldChange | Refund | Dispute | StrayCharge | Correction | OperatorDecision;

/** A transition before it has its place in the chain. */
export interface TransitionDraft {
  readonly type: TransitionType;
  readonly payment: Payment;
  readonly postings: readonly Posting[];
  readonly subject?: Subject;
}

/** Whether a charge may still be under way: the only state that a retry may take over. */
export function isUnresolved(payment: Payment): boolean {
  return payment.status === 'processing';
}

/** Whether the processor may yet tell how it ends, without being asked for anything more. */
export function isAwaited(payment: Payment): boolean {
  return isUnresolved(payment) || payment.status === 'requires_action';
}

/** Whether the merchant's `reference` may be used for another payment. */
export function freesReference(payment: Payment): boolean {
  return payment.status === 'failed' || payment.status === 'canceled';
}

/** The first transition: it reserves the id and says that the processor may be asked. */
export function create(
  payment: Omit<Payment, 'status' | 'amountCapturedMinor' | 'amountRefundedMinor'>,
): TransitionDraft {
  return {
    type: 'payment.created',
    payment: { ...payment, status: 'processing', amountCapturedMinor: 0, amountRefundedMinor: 0 },
    postings: [],
  };
}
