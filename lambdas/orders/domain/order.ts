import type { Mode, OrderId, PaymentId, TenantId } from '../../kernel/ids.ts';
import type { Failure } from '../../payments/domain/payment.ts';

export const ORDER_STATUSES = [
  /** Not done yet, or being undone: nothing may be concluded from it. */
  'processing',
  /** Paid and reserved. What is late, the e-mail and the credit, never takes that back. */
  'completed',
  /** Nothing was charged, or all of it was given back; nothing is reserved. */
  'canceled',
  /** What became of its payment, or of its undoing, cannot be found out: it leaves by evidence. */
  'needs_review',
] as const;

type OrderStatus = (typeof ORDER_STATUSES)[number];

interface Progress<Status extends string> {
  readonly status: Status;
  /** When this began: limits in time run from here. Unix milliseconds. */
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
export const REVERSAL_WAYS = ['cancel', 'refund'] as const;
export type ReversalWay = (typeof REVERSAL_WAYS)[number];

interface ChargeProgress extends Progress<(typeof CHARGE_STATUSES)[number]> {
  /** Of the reversal: each has its own key, because the one before has provably failed. 1 for the first. */
  readonly attempt?: number;
  /** By which way it was tried last: the attempts of each way are counted by themselves. */
  readonly by?: ReversalWay;
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

export const EMAIL_STATUSES = ['none', 'pending', 'delayed', 'sent', 'failed', 'unknown'] as const;
type EmailProgress = Progress<(typeof EMAIL_STATUSES)[number]>;

/** `none`: nobody is to be credited; `due`: somebody is, once the goods are reserved. */
export const REFERRAL_STATUSES = ['none', 'due', 'pending', 'delayed', 'credited', 'failed'] as const;
type ReferralProgress = Progress<(typeof REFERRAL_STATUSES)[number]>;

/** An order as it stands after a transition. What never changes and may be long is kept on the first transition only. */
export interface Order {
  readonly id: OrderId;
  readonly tenantId: TenantId;
  readonly mode: Mode;
  readonly status: OrderStatus;
  /** Minor units. */
  readonly amountMinor: number;
  readonly currency: string;
  readonly paymentId: PaymentId;
  readonly charge: ChargeProgress;
  readonly reservation: ReservationProgress;
  readonly email: EmailProgress;
  readonly referral: ReferralProgress;
  /** Why it cannot be fulfilled: from here on it is undone, and never fulfilled any more. */
  readonly failure?: Failure;
  /** When that became known, or its undoing began anew. Unix milliseconds. */
  readonly failedAtMs?: number;
  /** Whether an answer may be stored: then a lost record is never made again. */
  readonly answered: boolean;
  readonly createdAtMs: number;
}

export const ORDER_TRANSITION_TYPES = [
  /** Says that the charge may be under way: it is that step's pending transition. */
  'order.created',
  'charge.succeeded',
  'charge.failed',
  /** The payer did not do what was asked of him. */
  'charge.abandoned',
  /** All of it went back by the payment's own route, before the customer was told of anything. */
  'charge.refunded',
  'charge.review_required',
  'reversal.pending',
  'reversal.failed',
  /** What was to be let go has been taken since: it is given back instead. */
  'reversal.turned',
  /** What was given back has come back: it is tried again. */
  'reversal.undone',
  'reversal.succeeded',
  'reservation.pending',
  'reservation.succeeded',
  'reservation.refused',
  /** Nobody could tell for too long: it is undone, whether it is there or not. */
  'reservation.given_up',
  'release.pending',
  /** It is there after all, and has a name. */
  'release.found',
  'release.succeeded',
  'email.pending',
  'email.delayed',
  'email.sent',
  'email.failed',
  'email.unknown',
  'referral.pending',
  'referral.delayed',
  'referral.credited',
  'referral.failed',
  /** "Not known yet" was answered. */
  'order.processing',
  'order.completed',
  'order.canceled',
  'order.review_required',
] as const;

export type OrderTransitionType = (typeof ORDER_TRANSITION_TYPES)[number];

/** A transition before it has its place in the chain. */
export interface OrderDraft {
  readonly type: OrderTransitionType;
  readonly order: Order;
}

/** The credit for who brought the customer: five of a hundred. A constant until shops ask for a rule of their own. */
const REFERRAL_PERCENT = 5;

/** Rounded down. Minor units. */
export function referralCreditMinor({ amountMinor }: Pick<Order, 'amountMinor'>): number {
  return Math.floor((amountMinor * REFERRAL_PERCENT) / 100);
}

export type NewOrder = Pick<
  Order,
  'id' | 'tenantId' | 'mode' | 'amountMinor' | 'currency' | 'paymentId' | 'createdAtMs'
>;

/** The first transition: it reserves the id and says that the payment may be taken. */
export function createOrderDraft(order: NewOrder, referrer: string | undefined): OrderDraft {
  const sinceMs = order.createdAtMs;
  const isCredited = referrer !== undefined && referralCreditMinor(order) > 0;
  return {
    type: 'order.created',
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

/** Whether nothing of it is open any more: all was done, or all was undone. */
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

const EMAIL_ENDS: ReadonlySet<EmailProgress['status']> = new Set(['sent', 'failed', 'unknown']);
const REFERRAL_ENDS: ReadonlySet<ReferralProgress['status']> = new Set(['none', 'credited', 'failed']);
