import { jsonFields } from '../../kernel/answer.ts';
import { defined } from '../../kernel/defined.ts';
import { apiObject, everyField, shownField } from '../../kernel/fields.ts';
import type { Mode, PaymentId, TenantId } from '../../kernel/ids.ts';
import type { Seal } from '../../kernel/sealed-details.ts';
import { partId } from '../ids.ts';
import type { Fee, Fees } from './fees.ts';
import type { Posting } from './posting.ts';

export const PAYMENT_STATUSES = [
  /** The processor was not called yet, or the outcome of the charge is not known yet. */
  'processing',
  /** The payer must approve the charge on a page of the processor. */
  'requires_action',
  'requires_capture',
  'succeeded',
  'failed',
  'canceled',
  /**
   * The outcome cannot be determined, or the captured amount is wrong. Later evidence or an operator ends this status.
   */
  'needs_review',
] as const;

export type PaymentStatus = (typeof PAYMENT_STATUSES)[number];

export type CaptureMode = 'automatic' | 'manual';

export interface Failure {
  readonly code: string;
  readonly message: string;
}

/** The failure code of a payment or a change whose request the processor provably never received. */
export const NOT_ATTEMPTED = 'not_attempted';

export const DECIDED_BY_OPERATOR = 'decided_by_operator';

/** The failure code of a payment whose captured amount or currency differs from the request. */
export const WRONG_AMOUNT = 'wrong_amount';
/** The failure code of a payment in review because the processor no longer has its charge. */
export const CHARGE_VANISHED = 'charge_vanished';

export function isOwnFailure({ code }: Failure): boolean {
  return code === NOT_ATTEMPTED || code === DECIDED_BY_OPERATOR;
}

/** Prefixes a processor's failure code that equals one of Payonce's own codes, so that the failures stay distinct. */
export function asProcessorFailure(failure: Failure): Failure {
  return isOwnFailure(failure) ? { ...failure, code: `processor_${failure.code}` } : failure;
}

export const CANCEL_REASONS = ['requested', 'expired', 'abandoned'] as const;
export type CancelReason = (typeof CANCEL_REASONS)[number];

/** Fields that the caller sets and that never change. */
export interface PaymentTerms {
  readonly amountMinor: number;
  readonly currency: string;
  readonly source: string;
  readonly capture: CaptureMode;
  readonly reference?: string;
}

/**
 * Fields that the caller sets and that may contain personal data. They are stored in a details row, which can be
 * erased.
 */
export interface PaymentNotes {
  readonly description?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  /** The page to which the processor redirects the payer. @default the default page of the deployment */
  readonly returnUrl?: string;
}

export interface ShownNotes extends PaymentNotes {
  readonly detailsErased?: true;
}

export interface Payment extends PaymentTerms, Fees {
  readonly id: PaymentId;
  readonly tenantId: TenantId;
  readonly mode: Mode;
  readonly status: PaymentStatus;
  readonly amountCapturedMinor: number;
  readonly amountRefundedMinor: number;
  readonly processorName: string;
  readonly chargeId?: string;
  readonly failure?: Failure;
  /** Present only while the status is `canceled`. */
  readonly cancelReason?: CancelReason;
  /** The page where the payer approves or refuses the charge. Present only while the status is `requires_action`. */
  readonly actionUrl?: string;
  /** The disputes of all charges of the payment, oldest first. Absent when there are none. */
  readonly disputes?: readonly Dispute[];
  /** Number of annotations by operators. Absent when there are none. */
  readonly annotations?: number;
  readonly createdAtMs: number;
}

export function termsOf({ amountMinor, currency, source, capture, reference }: PaymentTerms): PaymentTerms {
  return everyField<PaymentTerms>({ amountMinor, currency, source, capture, reference });
}

export function notesOf({ description, metadata, returnUrl }: PaymentNotes): PaymentNotes {
  return everyField<PaymentNotes>({ description, metadata, returnUrl });
}

type ShownPayment = Omit<Payment, 'tenantId'> & ShownNotes;

const shown = shownField<ShownPayment>();

// Sorted, because DynamoDB does not keep the order of a map's keys.
function sortedMetadata(metadata: PaymentNotes['metadata'] = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(metadata).sort(([left], [right]) => (left < right ? -1 : 1)));
}

const note = shownField<ShownNotes>();

/** The fields of {@link PAYMENT_OBJECT} that show the notes, in order. */
const NOTES = {
  description: note(['description'], ({ description }) => description ?? null),
  metadata: note(['metadata'], ({ metadata }) => sortedMetadata(metadata)),
  return_url: note(['returnUrl'], ({ returnUrl }) => returnUrl),
  details_erased: note(['detailsErased'], ({ detailsErased }) => detailsErased),
};
const NOTES_OBJECT = apiObject<ShownNotes>()(NOTES);

export function notesFields(notes: ShownNotes): string {
  return jsonFields(NOTES_OBJECT.render(notes));
}

/**
 * The API object of a payment, with amounts in minor units and times in Unix seconds. Rarely used fields are omitted if
 * they are empty, because every stored response must stay below one kilobyte.
 */
const PAYMENT_OBJECT = apiObject<ShownPayment>()({
  id: shown(['id'], ({ id }) => id),
  object: shown([], () => 'payment'),
  amount: shown(['amountMinor'], ({ amountMinor }) => amountMinor),
  amount_captured: shown(['amountCapturedMinor'], ({ amountCapturedMinor }) => amountCapturedMinor),
  amount_refunded: shown(['amountRefundedMinor'], ({ amountRefundedMinor }) => amountRefundedMinor),
  amount_disputed: shown(['disputes', 'chargeId'], disputedMinor),
  currency: shown(['currency'], ({ currency }) => currency),
  status: shown(['status'], ({ status }) => status),
  source: shown(['source'], ({ source }) => source),
  capture: shown(['capture'], ({ capture }) => capture),
  next_action: shown(['actionUrl'], ({ actionUrl: url }) =>
    url === undefined ? undefined : { type: 'redirect', url },
  ),
  processor: shown(['processorName', 'chargeId', 'feeMinor', 'otherFees'], ({ processorName, chargeId, ...fees }) => ({
    name: processorName,
    charge_id: chargeId ?? null,
    ...defined({ fee: fees.feeMinor }),
    ...(fees.otherFees === undefined ? {} : { other_fees: fees.otherFees.map(feeObject) }),
  })),
  failure: shown(['failure'], ({ failure }) => failure ?? null),
  cancellation_reason: shown(['cancelReason'], ({ cancelReason }) => cancelReason),
  reference: shown(['reference'], ({ reference }) => reference ?? null),
  ...NOTES,
  disputes: shown(['disputes', 'id', 'currency'], ({ disputes, ...payment }) =>
    disputes?.map((dispute) => disputeObject(dispute, payment)),
  ),
  annotations: shown(['annotations'], ({ annotations }) => annotations),
  created: shown(['createdAtMs'], ({ createdAtMs }) => Math.floor(createdAtMs / 1000)),
  livemode: shown(['mode'], ({ mode }) => mode === 'live'),
});

export type PaymentField = (typeof PAYMENT_OBJECT)['names'][number];

/** @param notes the notes on the first transition */
export function paymentObject(payment: Payment, notes: ShownNotes): Record<string, unknown> {
  const { detailsErased } = notes;
  return PAYMENT_OBJECT.render({ ...payment, ...notesOf(notes), ...(detailsErased && { detailsErased }) });
}

export function feeObject({ amountMinor, currency }: Fee): Record<string, unknown> {
  return { amount: amountMinor, currency };
}

/**
 * Sums up the open and lost disputes of the payment's own charge, in minor units of the payment's currency. The
 * merchant does not have this money. Excludes disputes in another currency, because their charge is recorded as a stray
 * charge.
 */
function disputedMinor({ disputes = [], chargeId }: Pick<Payment, 'disputes' | 'chargeId'>): number {
  return disputes
    .filter(({ chargeId: of, currency, status }) => of === chargeId && currency === undefined && status !== 'won')
    .reduce((sum, { amountMinor }) => sum + amountMinor, 0);
}

export function disputeObject(
  { disputeId, chargeId, amountMinor, currency, status, createdAtMs }: Dispute,
  payment: Pick<Payment, 'id' | 'currency'>,
): Record<string, unknown> {
  return {
    id: partId('dispute', payment.id, disputeId),
    object: 'dispute',
    payment: payment.id,
    charge_id: chargeId,
    amount: amountMinor,
    currency: currency ?? payment.currency,
    status,
    created: Math.floor(createdAtMs / 1000),
  };
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
  /** A stray charge was found. It is recorded and reversed, and an alarm reports it. */
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
  'payment.annotated',
] as const;

export type TransitionType = (typeof TRANSITION_TYPES)[number];

/** Not published as events. */
const PENDING_TYPES = ['payment.created', 'capture.pending', 'void.pending', 'refund.pending'] as const;

export type OutcomeType = Exclude<TransitionType, (typeof PENDING_TYPES)[number]>;

export function isOutcome(type: TransitionType): type is OutcomeType {
  return PENDING_TYPES.every((pending) => pending !== type);
}

// ------------------------------------------------------------------------------------------------------------ sub-objects

/**
 * A reason in free text. It may contain personal data, so it is stored in a separate details row, under the id of its
 * refund, capture, cancellation, correction, decision or annotation. The chain contains only a commitment (salted hash)
 * to the reason.
 */
export interface GivenReason extends Partial<Seal> {
  /** Absent when no reason was given, or after the reason was erased. */
  readonly reason?: string;
}

export interface Refund extends GivenReason {
  readonly kind: 'refund';
  /** Payonce's id of the refund, or the processor's id if the refund was made at the processor. */
  readonly refundId: string;
  readonly chargeId: string;
  readonly amountMinor: number;
  /** The currency of a stray charge, if it differs from the payment's. */
  readonly currency?: string;
  readonly status: 'pending' | 'succeeded' | 'failed';
  readonly failure?: Failure;
  /**
   * Time of the request, in Unix milliseconds. If the refund was made at the processor, the time at which it was
   * recorded.
   */
  readonly createdAtMs: number;
  /** True if the request contained no amount. */
  readonly wholeAmount?: true;
  /** True if the request was answered with 202 and that response is stored. */
  readonly answered?: true;
  /**
   * Set on a pending refund after the processor has listed it under its operation id. If the processor later does not
   * list it, an operator must investigate.
   */
  readonly accepted?: true;
  readonly decision?: OperatorDecision;
}

/** A requested capture or cancellation. While this change is pending, no other capture or cancellation can begin. */
export interface HoldChange {
  readonly kind: 'capture' | 'void';
  readonly operationId: string;
  /** Amount to capture, or the amount of the hold to void, in minor units. */
  readonly amountMinor: number;
  readonly status: 'pending' | 'failed';
  /** Present if Payonce voids a hold that was not captured in time. @default requested */
  readonly reason?: 'expired';
  readonly failure?: Failure;
  readonly wholeAmount?: true;
  readonly answered?: true;
  readonly request?: OperatorRequest;
  readonly decision?: OperatorDecision;
}

export const DISPUTE_STATUSES = ['open', 'won', 'lost'] as const;

export interface Dispute {
  readonly kind: 'dispute';
  readonly disputeId: string;
  readonly chargeId: string;
  readonly amountMinor: number;
  /** The currency of a stray charge, if it differs from the payment's. */
  readonly currency?: string;
  readonly status: (typeof DISPUTE_STATUSES)[number];
  /** Time at which the dispute was recorded, in Unix milliseconds. */
  readonly createdAtMs: number;
}

/**
 * A charge that its payment should not have: it was captured or authorized after the payment ended, or in addition to
 * the payment's own charge.
 */
export interface StrayCharge {
  readonly kind: 'stray_charge';
  readonly chargeId: string;
  readonly amountMinor: number;
  readonly currency: string;
  readonly status: 'authorized' | 'captured';
}

export interface Correction extends GivenReason {
  readonly kind: 'correction';
  readonly correctionId: string;
  readonly operator: string;
  /** The sequence number of the transition whose postings the correction reverses. */
  readonly reverses?: number;
}

/** A refund has no such object: it contains its reason itself. */
export interface OperatorRequest extends GivenReason {
  readonly kind: 'request';
  readonly operator: string;
}

/** An operator's decision about a payment or a change whose outcome could not be determined. */
export interface OperatorDecision extends GivenReason {
  readonly kind: 'decision';
  readonly decisionId: string;
  readonly operator: string;
  /**
   * True if the decision was made although the processor's books could not be read.
   * @default absent: the processor's books confirmed the decision
   */
  readonly override?: true;
}

/** An operator's note about a record that is wrong or needs an explanation. The record does not change. */
export interface Annotation extends GivenReason {
  readonly kind: 'annotation';
  readonly annotationId: string;
  readonly operator: string;
  /**
   * The sequence number of the annotated transition.
   * @default the annotation is about the payment as a whole
   */
  readonly annotates?: number;
  /** The id of a charge that, according to the operator, does not exist at the processor. */
  readonly missingCharge?: string;
}

/** The object that a transition is about in addition to the payment, in its state after the transition. */
export type Subject = HoldChange | Refund | Dispute | StrayCharge | Correction | OperatorDecision | Annotation;

/** A transition that has no position in the chain yet. */
export interface TransitionDraft {
  readonly type: TransitionType;
  readonly payment: Payment;
  readonly postings: readonly Posting[];
  readonly subject?: Subject;
}

/**
 * Returns whether the outcome of the payment's charge is still unknown. If false, a takeover only stores the response,
 * and does not call the processor.
 */
export function isUnresolved(payment: Payment): boolean {
  return payment.status === 'processing';
}

/** Returns whether the processor may still report an outcome without a further request. */
export function isAwaited(payment: Payment): boolean {
  return isUnresolved(payment) || payment.status === 'requires_action';
}

export function freesReference(payment: Payment): boolean {
  return payment.status === 'failed' || payment.status === 'canceled';
}

/** Creates a payment's first transition, which is written before the processor is called and reserves the payment's id. */
export function create(
  payment: Omit<Payment, 'status' | 'amountCapturedMinor' | 'amountRefundedMinor'>,
): TransitionDraft {
  return {
    type: 'payment.created',
    payment: { ...payment, status: 'processing', amountCapturedMinor: 0, amountRefundedMinor: 0 },
    postings: [],
  };
}
