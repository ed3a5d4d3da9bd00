import type { Mode, OrderId, PaymentId, TenantId } from '../../kernel/ids.ts';
import type { Failure } from '../../payments/domain/payment.ts';

/**
 * Failure code of an order whose stock service did not respond. The goods may be reserved, so an operator must check.
 */
export const STOCK_IN_DOUBT = 'stock_in_doubt';

export const ORDER_STATUSES = [
  /** In progress or being reversed. The outcome is not known yet. */
  'processing',
  /** Paid and reserved. A late or failed e-mail or credit does not change this status. */
  'completed',
  /**
   * Nothing was charged, or everything was refunded or voided. Nothing is reserved: a reservation found later is
   * released.
   */
  'canceled',
  /**
   * The outcome of the payment cannot be determined, or the reversal does not complete. The order leaves this status
   * when the outcome becomes known.
   */
  'needs_review',
] as const;

export type OrderStatus = (typeof ORDER_STATUSES)[number];

interface Progress<Status extends string> {
  readonly status: Status;
  /**
   * Start of this status or, for an e-mail or a credit, the time at which the call was announced. The step's time
   * limits count from this time.
   */
  readonly sinceMs: number;
}

export const CHARGE_STATUSES = [
  'pending',
  'succeeded',
  'failed',
  'review',
  'reversing',
  'reversal_failed',
  'reversed',
] as const;
export const REVERSAL_KINDS = ['cancel', 'refund'] as const;
export type ReversalKind = (typeof REVERSAL_KINDS)[number];

interface ChargeProgress extends Progress<(typeof CHARGE_STATUSES)[number]> {
  /**
   * From 1. Each attempt has a different idempotency key, and starts only after the previous attempt has provably
   * failed.
   */
  readonly attempt?: number;
  /** The kind of the last reversal. The attempts of each kind are counted separately. */
  readonly by?: ReversalKind;
}

export const RESERVATION_STATUSES = [
  'none',
  'pending',
  'reserved',
  'refused',
  'given_up',
  'releasing',
  'released',
] as const;
interface ReservationProgress extends Progress<(typeof RESERVATION_STATUSES)[number]> {
  readonly reservationId?: string;
}

/** `queued`: the calling process stopped trying; a delayed message triggers the last attempt. */
export const EMAIL_STATUSES = ['none', 'pending', 'delayed', 'queued', 'sent', 'failed', 'capped', 'unknown'] as const;
type EmailProgress = Progress<(typeof EMAIL_STATUSES)[number]>;

/**
 * `none`: there is no referrer, or the credit would be zero; `due`: the referrer will be credited after the goods are
 * reserved; `queued`: as in `EMAIL_STATUSES`.
 */
export const REFERRAL_STATUSES = [
  'none',
  'due',
  'pending',
  'delayed',
  'queued',
  'credited',
  'failed',
  'no_referral_program',
  'unknown',
] as const;
type ReferralProgress = Progress<(typeof REFERRAL_STATUSES)[number]>;

/** Long fields that never change are stored on the first transition only. */
export interface Order {
  readonly id: OrderId;
  readonly tenantId: TenantId;
  readonly mode: Mode;
  readonly status: OrderStatus;
  readonly amountMinor: number;
  readonly currency: string;
  readonly paymentId: PaymentId;
  readonly charge: ChargeProgress;
  readonly reservation: ReservationProgress;
  readonly email: EmailProgress;
  readonly referral: ReferralProgress;
  /** An order with a failure is reversed and never fulfilled. */
  readonly failure?: Failure;
  /** Time at which the failure became known or the reversal was restarted. */
  readonly failedAtMs?: number;
  /** Whether a response may have been stored. If true, a lost idempotency record is never replaced with a new one. */
  readonly answered: boolean;
  readonly createdAtMs: number;
}

export const ORDER_TRANSITION_TYPES = [
  /** Begins the order. Also serves as the pending transition of the charge, which may be in progress from now on. */
  'order.placed',
  'charge.succeeded',
  'charge.failed',
  /** The payer did not approve the payment in time. */
  'charge.abandoned',
  /**
   * The payment was fully refunded, is disputed, or captured less than the order's amount. This became known before the
   * order was completed.
   */
  'charge.refunded',
  'charge.review_required',
  'reversal.pending',
  'reversal.failed',
  /** The hold was captured before it could be voided, so the payment is refunded instead. */
  'reversal.turned',
  /** A refund succeeded at first and failed later. The reversal is attempted again. */
  'reversal.undone',
  'reversal.succeeded',
  'reservation.pending',
  'reservation.succeeded',
  'reservation.refused',
  /**
   * The stock service gave no usable response in time. The reservation is released in any case, because it may exist.
   */
  'reservation.given_up',
  'release.pending',
  /** A repeated reservation request returned the id of the reservation to release. */
  'release.found',
  'release.succeeded',
  'email.pending',
  'email.delayed',
  'email.queued',
  'email.sent',
  'email.failed',
  'email.unknown',
  'referral.pending',
  'referral.delayed',
  'referral.queued',
  'referral.credited',
  'referral.failed',
  'referral.unknown',
  /** The request received a 202 response. */
  'order.processing',
  /**
   * Used instead of `charge.succeeded`, `charge.refunded` or `reversal.undone` when the order was canceled or in
   * review.
   */
  'order.reopened',
  'order.completed',
  'order.canceled',
  'order.review_required',
] as const;

export type OrderTransitionType = (typeof ORDER_TRANSITION_TYPES)[number];

/** Published as events. Only these types change an order's status. */
const ORDER_OUTCOMES = [
  'order.placed',
  'order.reopened',
  'order.completed',
  'order.canceled',
  'order.review_required',
] as const;
export type OrderOutcomeType = (typeof ORDER_OUTCOMES)[number];

export function isOrderOutcome(type: OrderTransitionType): type is OrderOutcomeType {
  return ORDER_OUTCOMES.some((outcome) => outcome === type);
}

export interface OrderDraft {
  readonly type: OrderTransitionType;
  readonly order: Order;
}

/**
 * Referrer's credit, in percent of the order's amount. A constant, because no shop needs a different rule yet. If a new
 * version changes the percentage, no order is credited twice: the shop stores each credit's idempotency key with its
 * amount, and refuses a retry with a different amount. The outcome of such a credit is then unknown.
 */
const REFERRAL_PERCENT = 5;

export function referralCreditMinor({ amountMinor }: Pick<Order, 'amountMinor'>): number {
  return Math.floor((amountMinor * REFERRAL_PERCENT) / 100);
}

export type NewOrder = Pick<
  Order,
  'id' | 'tenantId' | 'mode' | 'amountMinor' | 'currency' | 'paymentId' | 'createdAtMs'
>;

/** Written before the payment begins; reserves the order's id. */
export function createOrderDraft(order: NewOrder, referrer: string | undefined): OrderDraft {
  const sinceMs = order.createdAtMs;
  const isCredited = referrer !== undefined && referralCreditMinor(order) > 0;
  return {
    type: 'order.placed',
    order: {
      ...order,
      status: 'processing',
      charge: { status: 'pending', sinceMs },
      reservation: { status: 'none', sinceMs },
      email: { status: 'none', sinceMs },
      referral: { status: isCredited ? 'due' : 'none', sinceMs },
      answered: false,
    },
  };
}

/** All steps are done, or all are reversed. */
export function isSettled({ status, reservation, email, referral }: Order): boolean {
  switch (status) {
    case 'processing':
    case 'needs_review':
      return false;
    case 'completed':
      return EMAIL_ENDS.has(email.status) && REFERRAL_ENDS.has(referral.status);
    case 'canceled':
      return reservation.status !== 'releasing';
  }
}

/** An e-mail or a credit with such a status has no outcome yet. */
export const ANNOUNCED_STATUSES: ReadonlySet<string> = new Set<EmailProgress['status'] & ReferralProgress['status']>([
  'pending',
  'delayed',
  'queued',
]);
const EMAIL_ENDS: ReadonlySet<EmailProgress['status']> = new Set(['sent', 'failed', 'capped', 'unknown']);
const REFERRAL_ENDS: ReadonlySet<ReferralProgress['status']> = new Set([
  'none',
  'credited',
  'failed',
  'no_referral_program',
  'unknown',
]);
