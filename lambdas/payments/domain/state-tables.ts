import type { PaymentStatus, TransitionType } from './payment.ts';

/**
 * What a fact does to a payment, to a refund and to a dispute, as data: the code that decides looks here and nowhere
 * else, and the document's tables are made from here.
 */
export type Cell =
  | {
      readonly does: 'append';
      readonly type: TransitionType;
      /** @default as it was */
      readonly status?: PaymentStatus;
      /** @default nothing is posted */
      readonly posts?: Posts;
      /** It is booked, and yet against what was said before: a person hears of it. */
      readonly contradicts?: string;
    }
  /** Known already, or older than what is known. */
  | { readonly does: 'nothing'; readonly because: string }
  /** It cannot be, and nothing may be made of it: a person looks, and the books stay as they are. */
  | { readonly does: 'review'; readonly because: string };

/** What is booked: the debited account first. */
export type Posts =
  /** processor_clearing ← merchant_payable; and fees ← processor_clearing for what the processor keeps. */
  | 'receipt'
  /** fees ← processor_clearing, what the fee grew by. */
  | 'fee'
  /** processor_clearing ← late_receipts: owed back to the payer. */
  | 'late_receipt'
  /** refunds ← processor_clearing, or late_receipts ← processor_clearing for a stray charge. */
  | 'give_back'
  /** The same the other way round: money that was given back has come back. */
  | 'give_back_undone'
  /** disputes ← processor_clearing. */
  | 'dispute'
  /** The same the other way round. */
  | 'dispute_undone';

const append = (type: TransitionType, status?: PaymentStatus, posts?: Posts, contradicts?: string): Cell => ({
  does: 'append',
  type,
  ...(status === undefined ? {} : { status }),
  ...(posts === undefined ? {} : { posts }),
  ...(contradicts === undefined ? {} : { contradicts }),
});
const nothing = (because: string): Cell => ({ does: 'nothing', because });
const review = (because: string): Cell => ({ does: 'review', because });

const PROCESSING = append('payment.processing', 'processing');
const ACTION = append('payment.requires_action', 'requires_action');
const AUTHORIZED = append('payment.authorized', 'requires_capture');
const COMPLETED = append('payment.completed', 'succeeded', 'receipt');
const FAILED = append('payment.failed', 'failed');
const CANCELED = append('payment.canceled', 'canceled');
const REVIEW = append('payment.review_required', 'needs_review');
const LATE = append('payment.late_success', undefined, 'late_receipt');
/** The outcome that nobody knew is known, and comes too late to be kept. */
const LATE_SETTLES = append('payment.late_success', 'failed', 'late_receipt');

const KNOWN = nothing('known already');
const OLDER = nothing('older than what is known');
const STANDS = nothing('what the processor confirmed stands: a refusal heard later is of another attempt');
const ENDED = nothing('the payment has ended without money');
const NO_RESULT = nothing('no result, and only a result settles it');
const OTHERS = nothing('of a charge that is not the payment’s own, and without money');
const UNTAKEN = nothing('no money of it was kept');

/** The kinds of fact about a charge. */
export type ChargeRow =
  | 'pending'
  | 'action_required'
  | 'authorized'
  | 'succeeded'
  | 'wrong_amount'
  | 'declined'
  | 'revoked'
  | 'voided'
  | 'unknown'
  | 'not_attempted'
  | 'vanished'
  | 'undecidable'
  | 'fee'
  | 'stray_money'
  | 'stray_nothing';

export const CHARGE_ROW_MEANINGS: Readonly<Record<ChargeRow, string>> = {
  pending: 'accepted; the processor says later how it went',
  action_required: 'the payer must do something first',
  authorized: 'the money is set aside',
  succeeded: 'the money was taken',
  wrong_amount: 'money was taken, but another amount or currency than was asked for',
  declined: 'refused, by the payer’s bank or the processor',
  revoked: 'refused, by the books that had named this very charge before',
  voided: 'let go at the processor, or run out there',
  unknown: 'asked, and no answer in time',
  not_attempted: 'proven: nothing was sent, or nothing arrived',
  vanished: 'proven absent, though the processor had named the charge',
  undecidable: 'neither proof can ever be had',
  fee: 'what the processor keeps is known, or has changed',
  stray_money: 'another charge in this payment’s name has money, taken or held',
  stray_nothing: 'another charge in this payment’s name has none',
};

/** fact × state of the payment → what happens. */
export const CHARGE_TABLE: Readonly<Record<ChargeRow, Readonly<Record<PaymentStatus, Cell>>>> = {
  pending: {
    processing: PROCESSING,
    requires_action: OLDER,
    requires_capture: OLDER,
    succeeded: OLDER,
    failed: NO_RESULT,
    canceled: NO_RESULT,
    needs_review: NO_RESULT,
  },
  action_required: {
    processing: ACTION,
    requires_action: KNOWN,
    requires_capture: OLDER,
    succeeded: OLDER,
    failed: NO_RESULT,
    canceled: NO_RESULT,
    needs_review: NO_RESULT,
  },
  authorized: {
    processing: AUTHORIZED,
    requires_action: AUTHORIZED,
    requires_capture: KNOWN,
    succeeded: OLDER,
    failed: LATE,
    canceled: LATE,
    needs_review: LATE_SETTLES,
  },
  succeeded: {
    processing: COMPLETED,
    requires_action: COMPLETED,
    requires_capture: COMPLETED,
    succeeded: KNOWN,
    failed: LATE,
    canceled: LATE,
    needs_review: LATE_SETTLES,
  },
  wrong_amount: {
    processing: REVIEW,
    requires_action: REVIEW,
    requires_capture: REVIEW,
    succeeded: review('another amount than was posted'),
    failed: LATE,
    canceled: LATE,
    needs_review: LATE_SETTLES,
  },
  declined: {
    processing: FAILED,
    requires_action: FAILED,
    requires_capture: STANDS,
    succeeded: STANDS,
    failed: KNOWN,
    canceled: ENDED,
    needs_review: FAILED,
  },
  revoked: {
    processing: FAILED,
    requires_action: FAILED,
    requires_capture: review('what was set aside cannot be refused'),
    succeeded: review('money that was taken cannot be refused'),
    failed: KNOWN,
    canceled: ENDED,
    needs_review: FAILED,
  },
  voided: {
    processing: CANCELED,
    requires_action: CANCELED,
    requires_capture: CANCELED,
    succeeded: review('money that was taken cannot be let go'),
    failed: ENDED,
    canceled: KNOWN,
    needs_review: CANCELED,
  },
  unknown: {
    processing: PROCESSING,
    requires_action: NO_RESULT,
    requires_capture: NO_RESULT,
    succeeded: NO_RESULT,
    failed: NO_RESULT,
    canceled: NO_RESULT,
    needs_review: NO_RESULT,
  },
  not_attempted: {
    processing: FAILED,
    requires_action: REVIEW,
    requires_capture: STANDS,
    succeeded: STANDS,
    failed: KNOWN,
    canceled: ENDED,
    needs_review: FAILED,
  },
  vanished: {
    processing: REVIEW,
    requires_action: REVIEW,
    requires_capture: STANDS,
    succeeded: STANDS,
    failed: ENDED,
    canceled: ENDED,
    needs_review: KNOWN,
  },
  undecidable: {
    processing: REVIEW,
    requires_action: REVIEW,
    requires_capture: STANDS,
    succeeded: STANDS,
    failed: ENDED,
    canceled: ENDED,
    needs_review: KNOWN,
  },
  fee: {
    processing: UNTAKEN,
    requires_action: UNTAKEN,
    requires_capture: UNTAKEN,
    succeeded: append('payment.fee_reported', undefined, 'fee'),
    failed: UNTAKEN,
    canceled: UNTAKEN,
    needs_review: UNTAKEN,
  },
  stray_money: {
    processing: LATE,
    requires_action: LATE,
    requires_capture: LATE,
    succeeded: LATE,
    failed: LATE,
    canceled: LATE,
    needs_review: LATE,
  },
  stray_nothing: {
    processing: OTHERS,
    requires_action: OTHERS,
    requires_capture: OTHERS,
    succeeded: OTHERS,
    failed: OTHERS,
    canceled: OTHERS,
    needs_review: OTHERS,
  },
};

export type RefundStatus =
  | 'none'
  | 'pending'
  | 'succeeded'
  | 'failed'
  /** Failed by our own word, which is a conclusion and no processor's: not attempted, or decided by an operator. */
  | 'given_up';

const REFUND_FAILED = append('refund.failed');
const GIVEN_UP_DONE = 'a refund that was given up has succeeded';

/** what is said of the refund × what is known of it → what happens. */
export const REFUND_TABLE: Readonly<Record<Exclude<RefundStatus, 'none'>, Readonly<Record<RefundStatus, Cell>>>> = {
  pending: { none: append('refund.pending'), pending: KNOWN, succeeded: OLDER, failed: OLDER, given_up: OLDER },
  succeeded: {
    none: append('refund.completed', undefined, 'give_back'),
    pending: append('refund.completed', undefined, 'give_back'),
    succeeded: KNOWN,
    failed: review('a refund that failed cannot succeed: a new one has an id of its own'),
    given_up: append('refund.completed', undefined, 'give_back', GIVEN_UP_DONE),
  },
  failed: {
    none: REFUND_FAILED,
    pending: REFUND_FAILED,
    succeeded: append('refund.failed', undefined, 'give_back_undone'),
    failed: KNOWN,
    given_up: KNOWN,
  },
  given_up: {
    none: REFUND_FAILED,
    pending: REFUND_FAILED,
    succeeded: nothing('what the processor confirmed stands'),
    failed: KNOWN,
    given_up: KNOWN,
  },
};

export type DisputeStatus = 'none' | 'open' | 'won' | 'lost';

/** what the processor reports × what is known of the dispute → what happens. */
export const DISPUTE_TABLE: Readonly<Record<Exclude<DisputeStatus, 'none'>, Readonly<Record<DisputeStatus, Cell>>>> = {
  open: { none: append('dispute.opened', undefined, 'dispute'), open: KNOWN, won: OLDER, lost: OLDER },
  won: {
    none: append('dispute.closed'),
    open: append('dispute.closed', undefined, 'dispute_undone'),
    won: KNOWN,
    // Appealed, and won after all.
    lost: append('dispute.closed', undefined, 'dispute_undone'),
  },
  lost: {
    none: append('dispute.closed', undefined, 'dispute'),
    open: append('dispute.closed'),
    won: review('a dispute that was won cannot be lost'),
    lost: KNOWN,
  },
};
