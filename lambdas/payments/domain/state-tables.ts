/**
 * Defines, as data, the effect of each fact on a payment, a refund or a dispute. `decide` applies these tables, and the
 * tables in docs/reference/state-machine.md are generated from them.
 */
import { defined } from '../../kernel/defined.ts';
import type { PaymentStatus, TransitionType } from './payment.ts';

export type Cell =
  | {
      readonly does: 'append';
      readonly type: TransitionType;
      /** @default unchanged */
      readonly status?: PaymentStatus;
      /** @default nothing is posted */
      readonly posts?: Posts;
      readonly contradicts?: string;
    }
  | { readonly does: 'nothing'; readonly because: string }
  | { readonly does: 'review'; readonly because: string };

/** In each description, the first account is debited. */
export type Posts =
  /** processor_clearing ← merchant_payable, and fees ← processor_clearing for the processor's fee. */
  | 'receipt'
  /** fees ← processor_clearing, by the increase of the fee. */
  | 'fee'
  /** processor_clearing ← late_receipts: owed to the payer. */
  | 'late_receipt'
  /** refunds ← processor_clearing, or late_receipts ← processor_clearing for a stray charge. */
  | 'give_back'
  /** The reverse of `give_back`, because the processor has the refunded money again. */
  | 'give_back_undone'
  /** disputes ← processor_clearing. */
  | 'dispute'
  /** The reverse of `dispute`. */
  | 'dispute_undone';

const append = (type: TransitionType, status?: PaymentStatus, posts?: Posts, contradicts?: string): Cell => ({
  does: 'append',
  type,
  ...defined({ status, posts, contradicts }),
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
/**
 * The outcome is now known, but the money arrived too late and must be returned. The merchant is notified that the
 * payment failed.
 */
const LATE_SETTLES = append('payment.failed', 'failed', 'late_receipt');

const KNOWN = nothing('already known');
const OLDER = nothing('older than the known state');
const STANDS = nothing('the processor’s confirmation remains valid; a later refusal belongs to another attempt');
const ENDED = nothing('the payment ended without taking money');
const NO_RESULT = nothing('the fact is not a result, and only a result changes this state');
const OTHERS = nothing('not the payment’s own charge, and it has no money');
const NO_MONEY_KEPT = nothing('the payment keeps no money');

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
  pending: 'the processor accepted the charge and reports the result later',
  action_required: 'the payer must approve the charge first',
  authorized: 'the money is authorized',
  succeeded: 'the money was captured',
  wrong_amount: 'the captured amount or currency differs from the request',
  declined: 'the payer’s bank or the processor refused the charge',
  revoked: 'the processor’s books now show a confirmed charge as refused',
  voided: 'the authorization was voided or expired at the processor',
  unknown: 'the processor was called and did not answer in time',
  not_attempted: 'proven: no request was sent, or none arrived',
  vanished: 'the charge is provably absent although the processor had confirmed it',
  undecidable: 'neither the charge nor its absence can be proven',
  fee: 'the processor’s fee became known or changed',
  stray_money: 'another charge for this payment has money, captured or authorized',
  stray_nothing: 'another charge for this payment has no money',
};

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
    succeeded: review('the amount differs from the posted amount'),
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
    requires_capture: review('an authorized charge cannot be refused'),
    succeeded: review('a captured charge cannot be refused'),
    failed: KNOWN,
    canceled: ENDED,
    needs_review: FAILED,
  },
  voided: {
    processing: CANCELED,
    requires_action: CANCELED,
    requires_capture: CANCELED,
    succeeded: review('a captured charge cannot be voided'),
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
    requires_capture: REVIEW,
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
    processing: NO_MONEY_KEPT,
    requires_action: NO_MONEY_KEPT,
    requires_capture: NO_MONEY_KEPT,
    succeeded: append('payment.fee_reported', undefined, 'fee'),
    failed: NO_MONEY_KEPT,
    canceled: NO_MONEY_KEPT,
    needs_review: NO_MONEY_KEPT,
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
  /**
   * Payonce recorded the refund as failed (not attempted, or decided by an operator). The processor did not report a
   * failure.
   */
  | 'given_up';

const REFUND_FAILED = append('refund.failed');
const GIVEN_UP_DONE = 'a refund succeeded that Payonce had recorded as failed';

/** The effect of each reported refund status, by the known status. */
export const REFUND_TABLE: Readonly<Record<Exclude<RefundStatus, 'none'>, Readonly<Record<RefundStatus, Cell>>>> = {
  pending: {
    none: append('refund.pending'),
    pending: KNOWN,
    succeeded: OLDER,
    failed: OLDER,
    given_up: review('a refund is pending that Payonce had recorded as failed'),
  },
  succeeded: {
    none: append('refund.completed', undefined, 'give_back'),
    pending: append('refund.completed', undefined, 'give_back'),
    succeeded: KNOWN,
    failed: review('a failed refund cannot succeed; a new refund has its own id'),
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
    succeeded: nothing('the processor’s confirmation remains valid'),
    failed: KNOWN,
    given_up: KNOWN,
  },
};

export type DisputeStatus = 'none' | 'open' | 'won' | 'lost';

/** The effect of each reported dispute status, by the known status. */
export const DISPUTE_TABLE: Readonly<Record<Exclude<DisputeStatus, 'none'>, Readonly<Record<DisputeStatus, Cell>>>> = {
  open: { none: append('dispute.opened', undefined, 'dispute'), open: KNOWN, won: OLDER, lost: OLDER },
  won: {
    none: append('dispute.closed'),
    open: append('dispute.closed', undefined, 'dispute_undone'),
    won: KNOWN,
    // The merchant lost at first, appealed and won.
    lost: append('dispute.closed', undefined, 'dispute_undone'),
  },
  lost: {
    none: append('dispute.closed', undefined, 'dispute'),
    open: append('dispute.closed'),
    // A network can reopen a dispute. The processor then withdraws the money again.
    won: append('dispute.closed', undefined, 'dispute', 'a dispute once won is now lost'),
    lost: KNOWN,
  },
};
