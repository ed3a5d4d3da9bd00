import { type Answer, JSON_TYPE, jsonFields, PROBLEM_TYPE, type Problem, problemBody } from '../../kernel/answer.ts';
import { defined } from '../../kernel/defined.ts';

import { NOT_ATTEMPTED } from '../../payments/domain/payment.ts';
import { type Order, STOCK_IN_DOUBT } from './order.ts';
import type { OrderDetails } from './order-transition.ts';

export function orderObject(order: Order, details: OrderDetails): Record<string, unknown> {
  return {
    id: order.id,
    object: 'order',
    status: order.status,
    amount: order.amountMinor,
    currency: order.currency,
    items: details.items.map(({ sku, quantity }) => ({ sku, quantity })),
    ...defined({ shop_order: details.shopOrder }),
    ...shownContacts(details),
    payment: order.paymentId,
    reservation: order.reservation.reservationId ?? null,
    notifications: { email: shownEmail(order) },
    referral: shownReferral(order),
    failure: order.failure ?? null,
    created: Math.floor(order.createdAtMs / 1000),
    livemode: order.mode === 'live',
  };
}

function shownContacts({
  email,
  referrer,
  affiliate,
  returnUrl,
  detailsErased,
}: OrderDetails): Record<string, unknown> {
  return {
    email: email ?? null,
    referrer: referrer ?? null,
    ...defined({ affiliate, return_url: returnUrl }),
    ...(detailsErased === undefined ? {} : { details_erased: true }),
  };
}

/** JSON text, in the same sequence as in the API object. */
export function contactsFields(details: OrderDetails): string {
  return jsonFields(shownContacts(details));
}

export const SHOWN_EMAIL = ['none', 'pending', 'sent', 'delayed', 'failed', 'capped', 'unknown'] as const;
export const SHOWN_REFERRAL = ['none', 'pending', 'credited', 'failed', 'no_referral_program', 'unknown'] as const;

function shownEmail({ status, email }: Order): (typeof SHOWN_EMAIL)[number] {
  // A canceled order that has not begun this step will never begin it.
  if (email.status === 'none') return status === 'canceled' ? 'none' : 'pending';
  return email.status === 'queued' ? 'delayed' : email.status;
}

function shownReferral({ status: orderStatus, referral }: Order): (typeof SHOWN_REFERRAL)[number] {
  const { status } = referral;
  if (status === 'due' && orderStatus === 'canceled') return 'none';
  return status === 'due' || status === 'delayed' || status === 'queued' ? 'pending' : status;
}

/**
 * The response depends only on the stored order and its details, so the owner, a retry and the resolver render the same
 * bytes.
 */
export function orderAnswer(order: Order, details: OrderDetails): Answer {
  const body = orderObject(order, details);
  switch (order.status) {
    case 'completed':
    case 'processing':
    case 'needs_review':
      return {
        status: order.status === 'completed' ? 201 : 202,
        headers: { 'content-type': JSON_TYPE, location: `/v1/orders/${order.id}` },
        body: JSON.stringify(body),
      };
    case 'canceled': {
      const problem = cancellation(order);
      return {
        status: problem.status,
        headers: { 'content-type': PROBLEM_TYPE },
        body: problemBody(problem, details.requestId, { order: body }),
      };
    }
  }
}

function cancellation({ charge, reservation, failure }: Order): Problem {
  if (failure?.code === NOT_ATTEMPTED) {
    return {
      status: 409,
      code: 'order_not_attempted',
      title: 'Order not attempted',
      detail: 'The processor has no such charge, and nothing was charged. Use a new Idempotency-Key.',
    };
  }
  if (charge.status === 'failed') {
    return {
      status: 402,
      code: 'payment_failed',
      title: 'Payment failed',
      detail: failure?.message ?? 'The processor refused the payment.',
    };
  }
  const isOutOfStock = reservation.status === 'refused' && failure?.code !== STOCK_IN_DOUBT;
  return {
    status: 409,
    code: isOutOfStock ? 'out_of_stock' : 'order_canceled',
    title: isOutOfStock ? 'Out of stock' : 'Order canceled',
    detail: `${failure?.message ?? 'The order cannot be fulfilled.'} The charge was reversed.`,
  };
}
