import { defined } from '../../kernel/defined.ts';
import type { Failure, PaymentStatus } from '../../payments/domain/payment.ts';
import { NOT_ATTEMPTED } from '../../payments/domain/payment.ts';
import {
  ANNOUNCED_STATUSES,
  type Order,
  type OrderDraft,
  type OrderTransitionType,
  type ReversalKind,
} from './order.ts';

/** A fact about one step of an order, regardless of who or what brought it about. */
export type OrderFact =
  | {
      readonly kind: 'payment';
      readonly status: PaymentStatus;
      /** Captured amount minus refunds, pending refunds, and open or lost disputes. */
      readonly leftMinor: number;
      readonly capturedMinor: number;
      /** Open and lost disputes. */
      readonly disputedMinor: number;
      /** Refunds that have no outcome yet. */
      readonly pendingMinor: number;
      readonly failure?: Failure;
    }
  /** It is proven that no payment exists and that none can begin later. */
  | { readonly kind: 'payment_absent' }
  /** The payer did not act within `PAYER_BOUND_MS`. */
  | { readonly kind: 'payment_abandoned' }
  | { readonly kind: 'reversed' }
  /** This attempt provably failed. The next attempt needs a new idempotency key. */
  | { readonly kind: 'reversal_failed'; readonly attempt: number; readonly by: ReversalKind }
  /** The hold was captured before it could be voided, so only a refund can reverse the charge. */
  | { readonly kind: 'reversal_turned' }
  /** The refund succeeded at first and failed later, so the processor has the money again. */
  | { readonly kind: 'reversal_undone' }
  | { readonly kind: 'reserved'; readonly reservationId: string }
  | { readonly kind: 'reservation_refused'; readonly failure: Failure }
  | { readonly kind: 'released'; readonly reservationId: string }
  | { readonly kind: 'email_sent' | 'email_refused' | 'email_capped' | 'email_unknown' | 'email_unanswered' }
  | { readonly kind: 'credited' | 'credit_refused' | 'credit_without_program' | 'credit_unknown' | 'credit_unanswered' }
  /** A delayed message triggers the last attempt. */
  | { readonly kind: 'email_queued' | 'credit_queued' }
  /** The call failed. It stays in the dead-letter queue until an operator redrives or dismisses it. */
  | { readonly kind: 'email_given_up' | 'credit_given_up' };

type PaymentFact = Extract<OrderFact, { kind: 'payment' }>;

/** @returns undefined if the fact is already known, or too late to matter */
export function decideOrder(fact: OrderFact, order: Order, nowMs: number): OrderDraft | undefined {
  switch (fact.kind) {
    case 'payment':
    case 'payment_absent':
    case 'payment_abandoned':
      return decidePayment(fact, order, nowMs);
    case 'reversed':
    case 'reversal_failed':
    case 'reversal_turned':
    case 'reversal_undone':
      return decideReversal(fact, order, nowMs);
    case 'reserved':
      return decideReserved(fact.reservationId, order, nowMs);
    case 'reservation_refused':
      return decideReservationRefused(fact.failure, order, nowMs);
    case 'released': {
      const isIt = order.reservation.status === 'releasing' && order.reservation.reservationId === fact.reservationId;
      return isIt ? reservation('release.succeeded', order, 'released', nowMs) : undefined;
    }
    case 'email_sent':
    case 'email_refused':
    case 'email_capped':
    case 'email_unknown':
    case 'email_unanswered':
    case 'email_queued':
    case 'email_given_up':
      return decideEmail(fact.kind, order);
    case 'credited':
    case 'credit_refused':
    case 'credit_without_program':
    case 'credit_unknown':
    case 'credit_unanswered':
    case 'credit_queued':
    case 'credit_given_up':
      return decideReferral(fact.kind, order);
  }
}

function decidePayment(
  fact: Extract<OrderFact, { kind: 'payment' | 'payment_absent' | 'payment_abandoned' }>,
  order: Order,
  nowMs: number,
): OrderDraft | undefined {
  if (fact.kind === 'payment' && isMoneyMissing(fact, order)) return decideMissing(fact, order, nowMs);
  const isOpen = order.charge.status === 'pending' || order.charge.status === 'review';
  if (!isOpen || order.failure !== undefined) return undefined;
  if (fact.kind === 'payment_absent') {
    const failure = { code: NOT_ATTEMPTED, message: 'No charge was requested from the processor.' };
    return failed('charge.failed', { ...order, charge: { status: 'failed', sinceMs: nowMs } }, failure, nowMs);
  }
  if (fact.kind === 'payment_abandoned') {
    const failure = { code: 'payment_abandoned', message: 'The payer did not approve the payment in time.' };
    return failed('charge.abandoned', order, failure, nowMs);
  }
  switch (fact.status) {
    case 'succeeded':
      return inProgress('charge.succeeded', { ...order, charge: { status: 'succeeded', sinceMs: nowMs } });
    case 'failed':
    case 'canceled': {
      const failure = fact.failure ?? { code: 'payment_canceled', message: 'The payment was canceled.' };
      return failed('charge.failed', { ...order, charge: { status: 'failed', sinceMs: nowMs } }, failure, nowMs);
    }
    case 'needs_review':
      if (order.charge.status === 'review') return undefined;
      return { type: 'charge.review_required', order: { ...order, charge: { status: 'review', sinceMs: nowMs } } };
    case 'processing':
    case 'requires_action':
    case 'requires_capture':
      return undefined;
  }
}

/** A partial refund is treated as a discount as long as an amount is left. */
export function isMoneyMissing(
  { status, leftMinor, capturedMinor, disputedMinor }: PaymentFact,
  { amountMinor }: Pick<Order, 'amountMinor'>,
): boolean {
  return status === 'succeeded' && (leftMinor <= 0 || disputedMinor > 0 || capturedMinor < amountMinor);
}

/**
 * If the order is not completed, it can no longer complete, even if its e-mail was sent. After completion, a refund is
 * treated as a return of goods and changes nothing.
 */
function decideMissing(fact: PaymentFact, order: Order, nowMs: number): OrderDraft | undefined {
  if (order.failure !== undefined || order.status === 'completed') return undefined;
  const failure = fact.capturedMinor < order.amountMinor ? UNDERPAID : REFUNDED;
  const charge = { status: restOf(fact), sinceMs: nowMs } as const;
  const draft = failed('charge.refunded', { ...order, charge }, failure, nowMs);
  // If a reversal is still necessary, reopen an order in review. An operator must act again if the reversal fails.
  return charge.status === 'reversed' ? draft : inProgress(draft.type, draft.order);
}

/** `succeeded`: an amount is left, which the order then reverses. `reversing`: a refund by another actor is pending. */
function restOf({ leftMinor, pendingMinor }: PaymentFact): 'succeeded' | 'reversing' | 'reversed' {
  if (leftMinor > 0) return 'succeeded';
  return pendingMinor > 0 ? 'reversing' : 'reversed';
}

const UNDERPAID: Failure = {
  code: 'payment_underpaid',
  message: 'The processor charged less than the amount of the order.',
};
const REFUNDED: Failure = {
  code: 'payment_refunded',
  message: 'The payment was refunded or disputed before the order was completed.',
};

function decideReversal(
  fact: Extract<OrderFact, { kind: 'reversed' | `reversal_${string}` }>,
  order: Order,
  nowMs: number,
): OrderDraft | undefined {
  const { status, attempt, by } = order.charge;
  const isOpen = status === 'reversing' || status === 'reversal_failed';
  const charged = (type: OrderTransitionType, charge: Omit<Order['charge'], 'sinceMs'>): OrderDraft => ({
    type,
    order: { ...order, charge: { ...charge, sinceMs: nowMs } },
  });
  switch (fact.kind) {
    case 'reversed': {
      if (!isOpen) return undefined;
      // `attempt` is absent when another actor reversed the payment.
      const tried = defined({ attempt });
      return charged('reversal.succeeded', { status: 'reversed', ...tried, ...defined({ by }) });
    }
    case 'reversal_failed': {
      const isIt = status === 'reversing' && fact.attempt === (attempt ?? 1) && (by ?? fact.by) === fact.by;
      return isIt
        ? charged('reversal.failed', { status: 'reversal_failed', attempt: fact.attempt, by: fact.by })
        : undefined;
    }
    case 'reversal_turned':
      if (!isOpen || by !== 'cancel') return undefined;
      return charged('reversal.turned', { status: 'reversing', attempt: 1, by: 'refund' });
    case 'reversal_undone': {
      if (status !== 'reversed') return undefined;
      // A refund by another actor is not counted as an attempt of the order.
      const tried = by === 'cancel' || attempt === undefined ? {} : { attempt };
      const { type, order: open } = charged('reversal.undone', { status: 'reversal_failed', ...tried, by: 'refund' });
      return inProgress(type, { ...open, failedAtMs: nowMs });
    }
  }
}

/**
 * A delayed driver can learn of a reservation that the order can no longer use. This reservation is released, even
 * after the order has ended.
 */
function decideReserved(reservationId: string, order: Order, nowMs: number): OrderDraft | undefined {
  const { status, reservationId: known } = order.reservation;
  switch (status) {
    case 'pending':
      return reservation('reservation.succeeded', order, 'reserved', nowMs, reservationId);
    case 'refused':
    case 'given_up':
      return reservation('release.pending', order, 'releasing', nowMs, reservationId);
    case 'released':
      if (known === reservationId) return undefined;
      return reservation('release.pending', order, 'releasing', nowMs, reservationId);
    case 'releasing':
      if (known !== undefined) return undefined;
      return reservation('release.found', order, 'releasing', order.reservation.sinceMs, reservationId);
    case 'none':
    case 'reserved':
      return undefined;
  }
}

function decideReservationRefused(failure: Failure, order: Order, nowMs: number): OrderDraft | undefined {
  const { status, reservationId } = order.reservation;
  if (status === 'pending') {
    const refused: Order = { ...order, reservation: { status: 'refused', sinceMs: nowMs } };
    // Keep the first failure of the order.
    if (order.failure !== undefined) return { type: 'reservation.refused', order: refused };
    return failed('reservation.refused', refused, failure, nowMs);
  }
  // The retried reservation request was refused, so there is nothing to release.
  const isNothing = status === 'releasing' && reservationId === undefined;
  return isNothing ? reservation('release.succeeded', order, 'released', nowMs) : undefined;
}

/** A late success is recorded even if the e-mail was already recorded as failed or unknown. */
function decideEmail(kind: `email_${string}`, order: Order): OrderDraft | undefined {
  const { status, sinceMs } = order.email;
  const isOpen = ANNOUNCED_STATUSES.has(status);
  const become = (type: OrderTransitionType, next: Order['email']['status']): OrderDraft => ({
    type,
    order: { ...order, email: { status: next, sinceMs } },
  });
  const isGivenUp = status === 'failed' || status === 'unknown';
  if (kind === 'email_sent') return isOpen || isGivenUp ? become('email.sent', 'sent') : undefined;
  if (!isOpen) return undefined;
  if (kind === 'email_refused' || kind === 'email_given_up') return become('email.failed', 'failed');
  if (kind === 'email_queued') return status === 'queued' ? undefined : become('email.queued', 'queued');
  if (kind === 'email_capped') return become('email.failed', 'capped');
  if (kind === 'email_unknown') return become('email.unknown', 'unknown');
  return status === 'pending' ? become('email.delayed', 'delayed') : undefined;
}

function decideReferral(kind: `credit${string}`, order: Order): OrderDraft | undefined {
  const { status, sinceMs } = order.referral;
  const isOpen = ANNOUNCED_STATUSES.has(status);
  const become = (type: OrderTransitionType, next: Order['referral']['status']): OrderDraft => ({
    type,
    order: { ...order, referral: { status: next, sinceMs } },
  });
  const isGivenUp = status === 'failed' || status === 'unknown';
  if (kind === 'credited') return isOpen || isGivenUp ? become('referral.credited', 'credited') : undefined;
  if (!isOpen) return undefined;
  if (kind === 'credit_refused' || kind === 'credit_given_up') return become('referral.failed', 'failed');
  if (kind === 'credit_without_program') return become('referral.failed', 'no_referral_program');
  if (kind === 'credit_unknown') return become('referral.unknown', 'unknown');
  if (kind === 'credit_queued') return status === 'queued' ? undefined : become('referral.queued', 'queued');
  return status === 'pending' ? become('referral.delayed', 'delayed') : undefined;
}

/**
 * Status lists and merchants must be notified of every change of status, so an order with another status is reopened
 * with an event.
 */
function inProgress(type: OrderTransitionType, order: Order): OrderDraft {
  return order.status === 'processing'
    ? { type, order }
    : { type: 'order.reopened', order: { ...order, status: 'processing' } };
}

function failed(type: OrderTransitionType, order: Order, failure: Failure, failedAtMs: number): OrderDraft {
  return { type, order: { ...order, failure, failedAtMs } };
}

function reservation(
  type: OrderTransitionType,
  order: Order,
  status: Order['reservation']['status'],
  sinceMs: number,
  reservationId = order.reservation.reservationId,
): OrderDraft {
  const named = defined({ reservationId });
  return { type, order: { ...order, reservation: { status, sinceMs, ...named } } };
}
