import { defined } from '../../kernel/defined.ts';
import { ANNOUNCED_STATUSES, type Order, type OrderDraft, type OrderTransitionType } from './order.ts';
import {
  COMPENSATION_BOUND_MS,
  LATE_BOUND_MS,
  MAX_REVERSALS,
  REVERSAL_WAIT_MS,
  STOCK_BOUND_MS,
} from './order-limits.ts';

/**
 * Decides the next step of an order. The decision depends only on the order as of its newest transition and on the
 * current turn. After a crash, the next driver therefore continues where the previous one stopped.
 */

/** Any driver may repeat the call at any time with the same idempotency key. */
export type OrderCall =
  /** Create the payment, or read its state. */
  | 'charge'
  | 'reserve'
  | 'send_email'
  | 'credit'
  /** Refund or cancel the payment, or check whether it was reversed. */
  | 'reverse'
  /** Repeat the reservation request to find out the reservation's id. */
  | 'find_reservation'
  | 'release';

export type OrderStep =
  | { readonly do: 'call'; readonly call: OrderCall }
  /** A transition that announces a call is written before the call is made. */
  | { readonly do: 'append'; readonly draft: OrderDraft }
  /** Append the result that the client receives. Delayed e-mails and credits continue after the response. */
  | { readonly do: 'conclude'; readonly draft: OrderDraft }
  | { readonly do: 'rest' };

export interface Turn {
  readonly nowMs: number;
  /** The calls made in this turn, which is one execution of the driver. A turn makes each call at most once. */
  readonly tried: ReadonlySet<OrderCall>;
  readonly timeLeft: boolean;
}

const REST: OrderStep = { do: 'rest' };

export function nextOrderStep(order: Order, turn: Turn): OrderStep {
  if (order.failure !== undefined) return compensate(order, turn);
  switch (order.charge.status) {
    case 'pending':
      return ask('charge', turn) ?? REST;
    case 'review':
      if (order.status === 'processing') return conclude('order.review_required', order, 'needs_review');
      return ask('charge', turn) ?? REST;
    case 'succeeded':
      return fulfil(order, turn);
    case 'failed':
    case 'reversing':
    case 'reversal_failed':
    case 'reversed':
      // Unreachable: these statuses are written together with `failure`.
      return REST;
  }
}

// ------------------------------------------------------------------------------------------------------------ fulfilment

function fulfil(order: Order, turn: Turn): OrderStep {
  const { status, sinceMs } = order.reservation;
  const { nowMs } = turn;
  if (status === 'none') {
    // Read the payment again: it may have been refunded since an earlier turn.
    const look = ask('charge', turn);
    if (look !== undefined) return look;
    if (!turn.timeLeft) return REST;
    return append('reservation.pending', { ...order, reservation: { status: 'pending', sinceMs: nowMs } });
  }
  if (status === 'pending') {
    if (nowMs - sinceMs > STOCK_BOUND_MS) return append('reservation.given_up', givenUp(order, nowMs));
    return ask('reserve', turn) ?? REST;
  }
  // Payment and reservation are done. If time allows, attempt the e-mail and the credit once each before the client
  // receives its response.
  const late = finishLate(order, turn);
  if (late.do !== 'rest' || order.status === 'completed') return late;
  return conclude('order.completed', order, 'completed');
}

function givenUp(order: Order, nowMs: number): Order {
  return {
    ...order,
    reservation: { status: 'given_up', sinceMs: nowMs },
    failure: { code: 'stock_unavailable', message: 'The stock service did not confirm the reservation in time.' },
    failedAtMs: nowMs,
  };
}

/** Neither the e-mail nor the credit depends on the other, and a failure of either does not reverse the order. */
function finishLate(order: Order, turn: Turn): OrderStep {
  const email = sendEmail(order, turn);
  return email.do === 'rest' ? credit(order, turn) : email;
}

function sendEmail(order: Order, turn: Turn): OrderStep {
  const { status, sinceMs } = order.email;
  if (status === 'none') {
    if (!turn.timeLeft) return REST;
    return append('email.pending', { ...order, email: { status: 'pending', sinceMs: turn.nowMs } });
  }
  if (!ANNOUNCED_STATUSES.has(status)) return REST;
  const isTooLate = turn.nowMs - sinceMs > LATE_BOUND_MS;
  // An earlier call may have succeeded without a response.
  if (isTooLate) return append('email.unknown', { ...order, email: { status: 'unknown', sinceMs } });
  // A queued call is not made here: the consumer of its delayed message makes it.
  return status === 'queued' ? REST : (ask('send_email', turn) ?? REST);
}

function credit(order: Order, turn: Turn): OrderStep {
  const { status, sinceMs } = order.referral;
  if (status === 'due') {
    if (!turn.timeLeft) return REST;
    return append('referral.pending', { ...order, referral: { status: 'pending', sinceMs: turn.nowMs } });
  }
  if (!ANNOUNCED_STATUSES.has(status)) return REST;
  const isTooLate = turn.nowMs - sinceMs > LATE_BOUND_MS;
  if (isTooLate) return append('referral.unknown', { ...order, referral: { status: 'unknown', sinceMs } });
  return status === 'queued' ? REST : (ask('credit', turn) ?? REST);
}

// ---------------------------------------------------------------------------------------------------------- compensation

/**
 * The announced e-mail and credit are stopped first. The goods are released without waiting for the outcome of the
 * reversal.
 */
function compensate(order: Order, turn: Turn): OrderStep {
  const step = stopLate(order) ?? reverse(order, turn) ?? release(order, turn);
  if (step !== undefined) return step;
  if (order.status === 'canceled') return checkReversalAgain(order, turn) ?? REST;
  if (isMoneyBack(order) && isNothingReserved(order)) {
    return checkReversalAgain(order, turn) ?? conclude('order.canceled', order, 'canceled');
  }
  const overdue = turn.nowMs - (order.failedAtMs ?? order.createdAtMs) > COMPENSATION_BOUND_MS;
  const isForPerson = order.status === 'processing' && (overdue || isReversalExhausted(order));
  return isForPerson ? conclude('order.review_required', order, 'needs_review') : REST;
}

/**
 * Records announced calls as `unknown`, because an order that is being reversed no longer makes them. Such a call may
 * have taken effect although no response arrived.
 */
function stopLate(order: Order): OrderStep | undefined {
  const { email, referral } = order;
  if (ANNOUNCED_STATUSES.has(email.status))
    return append('email.unknown', { ...order, email: { ...email, status: 'unknown' } });
  if (ANNOUNCED_STATUSES.has(referral.status))
    return append('referral.unknown', { ...order, referral: { ...referral, status: 'unknown' } });
  return undefined;
}

/**
 * Checks whether a refund that succeeded has failed since. Needed before the order is canceled, and each time a driver
 * continues a canceled order.
 */
function checkReversalAgain({ charge }: Order, turn: Turn): OrderStep | undefined {
  return charge.status === 'reversed' ? ask('reverse', turn) : undefined;
}

function reverse(order: Order, turn: Turn): OrderStep | undefined {
  const { status, sinceMs, attempt = 0 } = order.charge;
  switch (status) {
    case 'failed':
    case 'reversed':
      return undefined;
    case 'pending':
    case 'review':
    case 'succeeded':
      return append('reversal.pending', reversing(order, 1, turn.nowMs));
    case 'reversing':
      return ask('reverse', turn);
    case 'reversal_failed': {
      // First check the payment: an operator may have reversed it manually, so that nothing is left to do.
      const look = ask('reverse', turn);
      if (look !== undefined) return look;
      const isDue = turn.nowMs - sinceMs >= REVERSAL_WAIT_MS * 2 ** (attempt - 1);
      if (attempt >= MAX_REVERSALS || !isDue || !turn.timeLeft) return undefined;
      return append('reversal.pending', reversing(order, attempt + 1, turn.nowMs));
    }
  }
}

function reversing(order: Order, attempt: number, nowMs: number): Order {
  const { by } = order.charge;
  const way = defined({ by });
  return { ...order, charge: { status: 'reversing', sinceMs: nowMs, attempt, ...way } };
}

function release(order: Order, turn: Turn): OrderStep | undefined {
  const { status, reservationId } = order.reservation;
  if (status === 'given_up' || status === 'pending' || status === 'reserved') {
    const named = defined({ reservationId });
    const reservation = { status: 'releasing', sinceMs: turn.nowMs, ...named } as const;
    return append('release.pending', { ...order, reservation });
  }
  if (status !== 'releasing') return undefined;
  return ask(reservationId === undefined ? 'find_reservation' : 'release', turn);
}

function isMoneyBack({ charge }: Order): boolean {
  return charge.status === 'failed' || charge.status === 'reversed';
}

function isNothingReserved({ reservation: { status } }: Order): boolean {
  return status === 'none' || status === 'refused' || status === 'released';
}

function isReversalExhausted({ charge }: Order): boolean {
  return charge.status === 'reversal_failed' && (charge.attempt ?? 0) >= MAX_REVERSALS;
}

// ------------------------------------------------------------------------------------------------------------------- steps

function ask(call: OrderCall, { tried, timeLeft }: Turn): OrderStep | undefined {
  return timeLeft && !tried.has(call) ? { do: 'call', call } : undefined;
}

function append(type: OrderTransitionType, order: Order): OrderStep {
  return { do: 'append', draft: { type, order } };
}

function conclude(type: OrderTransitionType, order: Order, status: Order['status']): OrderStep {
  return { do: 'conclude', draft: { type, order: { ...order, status, answered: true } } };
}

/** @returns undefined when the order already has a response */
export function processingDraft(order: Order): OrderDraft | undefined {
  return order.answered ? undefined : { type: 'order.processing', order: { ...order, answered: true } };
}
