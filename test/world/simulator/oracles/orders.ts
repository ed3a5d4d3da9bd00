/**
 * Oracles I10 and F30: goods, e-mails and credits are given only for money that exists, and an order is either
 * completed or fully undone.
 */

import { systemDigest } from '../../../../lambdas/kernel/platform/platform.ts';
import { ANNOUNCED_STATUSES, isSettled } from '../../../../lambdas/orders/domain/order.ts';
import type { OrderTransition } from '../../../../lambdas/orders/domain/order-transition.ts';
import { orderStepOperation, parseOrderId } from '../../../../lambdas/orders/ids.ts';
import type { Transition } from '../../../../lambdas/payments/domain/transition.ts';
import type { Observed, Violation } from '../contract.ts';
import { booksOf } from '../processors.ts';
import { chargesOf, leftOf } from './money.ts';
import {
  chargesByPayment,
  heldOf,
  isDecidedOtherwise,
  isReported,
  isShown,
  isTried,
  mismatches,
} from './processors.ts';
import type { Seen, Written } from './seen.ts';

/**
 * Maximum time from the last read of the payment to an effect, in milliseconds. Includes the request that causes the
 * effect.
 */
const CALL_MS = 60_000;

interface ShopEffect {
  readonly what: 'goods' | 'mail' | 'credit';
  readonly atMs: number;
}

/** Called after each step that changed the order, and at the end. */
export function checkOrder(id: string, chain: readonly Written<OrderTransition>[], seen: Seen): readonly Violation[] {
  const deeds = effectsFor(id, seen);
  const found = deeds.flatMap((deed) => paidFor(deed, id, chain, seen));
  for (const what of ['goods', 'mail', 'credit'] as const) {
    const times = deeds.filter((deed) => deed.what === what).length;
    if (times > 1) found.push({ oracle: 'order effects happen once', what: `${what} ${times} times`, about: id });
  }
  return found;
}

function effectsFor(id: string, { world }: Seen): readonly ShopEffect[] {
  const orderId = parseOrderId(id);
  if (orderId === undefined) return [];
  const keys = {
    goods: orderStepOperation(systemDigest, 'reserve', orderId) as string,
    credit: orderStepOperation(systemDigest, 'credit', orderId) as string,
  };
  const deeds: ShopEffect[] = [];
  for (const { kind, key, atMs } of world.shop) {
    if (kind === 'reserved' && key === keys.goods) deeds.push({ what: 'goods', atMs });
    if (kind === 'credited' && key === keys.credit) deeds.push({ what: 'credit', atMs });
  }
  for (const { subject, atMs } of world.mails) if (subject === `Your order ${id}`) deeds.push({ what: 'mail', atMs });
  return deeds;
}

/** I10: checks that the order was paid at the last read before the effect, according to the chain and the books. */
function paidFor(
  { what, atMs }: ShopEffect,
  id: string,
  chain: readonly Written<OrderTransition>[],
  { payments, world }: Seen,
): readonly Violation[] {
  const order = chain.findLast((each) => each.atMs <= atMs)?.row.order;
  // A reservation whose response was lost is requested again under its idempotency key, so that it can be released.
  if (what === 'goods' && order?.reservation.status === 'releasing') return [];
  const paymentId = chain[0]?.row.order.paymentId;
  const payment = payments.get(paymentId ?? '') ?? [];
  const dueMinor = order?.amountMinor ?? 0;
  const wrong = (why: string) => [{ oracle: 'I10 no goods for money that is gone', what: `${what} ${why}`, about: id }];
  // The payment may have changed between the read and the effect, which are separate calls.
  const isPaidAt = (thenMs: number) => isPaid(payment, thenMs, dueMinor);
  if (!isPaidAt(atMs) && !isPaidAt(atMs - CALL_MS)) return wrong('although money was missing');
  return isGoneUnread(payment, atMs, world) ? wrong('although the books had shown that no money remained') : [];
}

/** I10: checks that some money of the payment remained at the last read before each receipt was sent. */
export function checkReceipts({ payments, world }: Seen): readonly Violation[] {
  return world.mails.flatMap(({ metadata, atMs }) => {
    const id = metadata['payment'] ?? '';
    const chain = payments.get(id) ?? [];
    const isLeft = (thenMs: number) => (chargeAt(chain, thenMs)?.leftMinor ?? 1) > 0;
    if (isLeft(atMs) || isLeft(atMs - CALL_MS)) return [];
    return [{ oracle: 'I10 no goods for money that is gone', what: 'a receipt although no money remained', about: id }];
  });
}

/** Returns true before the payment has succeeded. A partial refund is treated as a discount. */
function isPaid(chain: readonly Written<Transition>[], atMs: number, dueMinor: number): boolean {
  const charge = chargeAt(chain, atMs);
  if (charge === undefined) return true;
  return charge.leftMinor > 0 && charge.disputedMinor === 0 && charge.capturedMinor >= dueMinor;
}

/** Returns undefined before the payment succeeded. */
function chargeAt(chain: readonly Written<Transition>[], atMs: number) {
  const then = chain.filter((each) => each.atMs < atMs);
  const newest = then.at(-1)?.row.payment;
  if (newest?.chargeId === undefined || newest.status !== 'succeeded') return undefined;
  const charge = chargesOf(then).get(newest.chargeId);
  return charge === undefined ? undefined : { ...charge, ...leftOf(charge) };
}

/**
 * Returns true if an operator decided before `atMs` that the payment succeeded, although the processor's books had
 * already shown that no money of the payment remained, and have not changed since. Callbacks about a payment in review
 * record nothing, so only a read of the books shows this.
 */
function isGoneUnread(chain: readonly Written<Transition>[], atMs: number, { processors }: Observed): boolean {
  const decided = chain.find(({ row }) => row.subject?.kind === 'decision' && row.type === 'payment.completed');
  if (decided === undefined || decided.atMs >= atMs) return false;
  const { payment } = decided.row;
  const inside = processors[booksOf(payment)]?.inside;
  const charge = inside?.all.find(({ chargeId }) => chargeId === payment.chargeId);
  const changedAtMs = inside?.changedAtMs(payment.chargeId ?? '') ?? Number.POSITIVE_INFINITY;
  return charge !== undefined && changedAtMs < decided.atMs && heldOf(charge) <= 0;
}

/** Called once the system is quiet. */
export function checkOrdersEnd(seen: Seen): readonly Violation[] {
  const { world, orders, payments } = seen;
  const charges = chargesByPayment(world);
  const reported = mismatches(world);
  return [...orders].flatMap(([id, chain]) => {
    const order = chain.at(-1)?.row.order;
    if (order === undefined) return [];
    const found: Violation[] = [];
    const wrong = (what: string): void => void found.push({ oracle: 'F30 settled or undone', what, about: id });
    const reserved =
      effectsFor(id, seen).filter(({ what }) => what === 'goods').length - releasedFor(order.reservation, seen);
    const ofPayment = payments.get(order.paymentId) ?? [];
    const payment = ofPayment.at(-1)?.row.payment;
    const own = (charges.get(order.paymentId) ?? []).filter(({ chargeId }) => chargeId === payment?.chargeId);
    const known = chargesOf(ofPayment).get(payment?.chargeId ?? '');
    // If the bank rejected the refund of a late charge several times, an alarm was raised and the refund waits for an
    // operator.
    const isLeft =
      known?.isOwn === false && leftOf(known).leftMinor > 0 && isTried(world, order.paymentId, payment?.chargeId ?? '');
    const keptMinor = isLeft ? 0 : own.reduce((total, charge) => total + heldOf(charge), 0);
    const isInReview = payment?.status === 'needs_review';
    const paymentProcessor = payment === undefined ? '' : booksOf(payment);
    if (order.status === 'canceled') {
      if (reserved > 0) wrong('is canceled, but its goods are still reserved');
      const areShown = own.every((charge) => isShown(world, paymentProcessor, charge.chargeId));
      const isReportedCharge = payment !== undefined && isReported(world, payment, payment.chargeId);
      // The processor may keep money that an operator declared refunded, if an alarm reported this. A change whose
      // callback was lost is a mismatch, which an operator resolves.
      const isMismatch = reported.some((row) => row.includes(order.paymentId));
      const isWaitedFor = isInReview || isReportedCharge || isMismatch || isDecidedOtherwise(world, ofPayment);
      if (keptMinor > 0 && areShown && !isWaitedFor) wrong(`is canceled, but ${keptMinor} was not returned`);
    }
    const isPaymentWaiting = isInReview || isUnsure(world, ofPayment);
    if (order.status === 'needs_review' && order.charge.status === 'review' && !isPaymentWaiting)
      wrong('is in review, but its payment is no longer in review');
    const has = (what: ShopEffect['what']): boolean => effectsFor(id, seen).some((deed) => deed.what === what);
    if (isSettled(order) && ANNOUNCED_STATUSES.has(order.email.status))
      wrong(`is completed or undone, but its e-mail is ${order.email.status}`);
    if (has('mail') && order.email.status === 'failed') wrong('shows that no e-mail was sent, but an e-mail was sent');
    if (!has('mail') && order.email.status === 'sent') wrong('shows that an e-mail was sent, but no e-mail was sent');
    if (order.referral.status !== 'unknown' && has('credit') !== (order.referral.status === 'credited')) {
      wrong(`shows the credit as ${order.referral.status}, but it was ${has('credit') ? '' : 'not '}given`);
    }
    if (order.status === 'completed' && reserved !== 1) wrong(`is completed with ${reserved} reservations`);
    return found;
  });
}

function isUnsure(world: Observed, chain: readonly Written<Transition>[]): boolean {
  const payment = chain.at(-1)?.row.payment;
  if (payment === undefined) return true;
  return (
    isReported(world, payment, payment.chargeId) ||
    isDecidedOtherwise(world, chain) ||
    mismatches(world).some((row) => row.includes(payment.id))
  );
}

function releasedFor({ reservationId }: { readonly reservationId?: string }, { world }: Seen): number {
  if (reservationId === undefined) return 0;
  const isReleased = world.shop.some(
    // Compare the id with its quotes, because one id can be a prefix of another.
    ({ kind, order }) => kind === 'released' && JSON.stringify(order).includes(JSON.stringify(reservationId)),
  );
  return isReleased ? 1 : 0;
}
