/**
 * Oracles: unfinished work is always in a queue that a job reads. Once the system is quiet, remaining work waits for an
 * operator, a payer or a processor.
 */
import { RegistryRow } from '../../../../lambdas/kernel/contract/rows.ts';
import type { PaymentId } from '../../../../lambdas/kernel/ids.ts';
import { isSettled } from '../../../../lambdas/orders/domain/order.ts';
import type { OrderTransition } from '../../../../lambdas/orders/domain/order-transition.ts';
import type { Transition } from '../../../../lambdas/payments/domain/transition.ts';
import { chargeOperation, isReturn } from '../../../../lambdas/payments/ids.ts';
import {
  HOLDS,
  parseChargeToReturn,
  parseInquiry,
  parseOpenOrder,
} from '../../../../lambdas/payments/store/queue-items.ts';
import type { Observed, Violation } from '../contract.ts';
import { booksOf, isAbout } from '../processors.ts';
import { chargesOf, leftOf } from './money.ts';
import {
  chargesByPayment,
  hasMaxDisputes,
  isDecidedOtherwise,
  isLeftToOperator,
  isNameless,
  isReported,
  isReportedOtherwise,
  isShown,
  isStuck,
  isTried,
} from './processors.ts';
import type { Seen, Written } from './seen.ts';

const ORACLE = 'unfinished work is queued';
const DAY_MS = 24 * 60 * 60_000;
/** Number of failed refunds of a stray charge after which an operator must refund the charge. */
const FAILED_RETURNS = 3;

/** An inquiry is the text `<payment> <operation>`, a return `<payment> <charge>`, and every other entry an id. */
export interface Queued {
  readonly inquiries: ReadonlySet<string>;
  /** Payments with a queued inquiry that reads all their charges. */
  readonly books: ReadonlySet<string>;
  readonly returns: ReadonlySet<string>;
  readonly holds: ReadonlySet<string>;
  readonly orders: ReadonlySet<string>;
}

export function queuedIn({ database, tables }: Observed): Queued {
  const rows = <Row>(prefix: string, parse: (item: Record<string, never>) => Row): readonly Row[] =>
    database.items(tables.registry, prefix).map((item) => parse(item as Record<string, never>));
  const inquiries = rows(RegistryRow.inquiry, parseInquiry);
  return {
    inquiries: new Set(inquiries.map((each) => `${each.paymentId} ${each.operationId}`)),
    books: new Set(inquiries.filter(({ waitsFor }) => waitsFor === 'books').map(({ paymentId }) => paymentId)),
    returns: new Set(rows(RegistryRow.return, parseChargeToReturn).map((each) => `${each.paymentId} ${each.chargeId}`)),
    holds: new Set(rows(RegistryRow.hold, HOLDS.parse).map(({ paymentId }) => paymentId)),
    orders: new Set(rows(RegistryRow.openOrder, parseOpenOrder).map(({ orderId }) => orderId)),
  };
}

export function checkQueued(
  id: string,
  chain: readonly Written<Transition>[],
  queued: Queued,
  claims: ReadonlySet<string>,
): readonly Violation[] {
  const newest = chain.at(-1)?.row.payment;
  if (newest === undefined) return [];
  const found: Violation[] = [];
  const missing = (what: string): void =>
    void found.push({ oracle: ORACLE, what: `${what} is in no queue`, about: id });
  const isAsked = (operation: string): boolean => claims.has(operation) || queued.inquiries.has(`${id} ${operation}`);
  const operation: string = chargeOperation(id as PaymentId);
  const isAwaited = newest.status === 'processing' || newest.status === 'requires_action';
  if (isAwaited && !isAsked(operation)) missing(`the payment, ${newest.status},`);
  if (newest.status === 'requires_capture' && !queued.holds.has(id)) missing('the hold');
  const isHeld = newest.status === 'requires_capture' || newest.status === 'requires_action';
  for (const change of pendingHoldChanges(chain)) if (isHeld && !isAsked(change)) missing(`the change ${change}`);
  for (const [chargeId, charge] of chargesOf(chain)) {
    const isReturned = queued.returns.has(`${id} ${chargeId}`);
    for (const [refundId, { status }] of charge.refunds) {
      const isOfReturn = refundId.startsWith('rtn_') && isReturned;
      const isTracked = isAsked(refundId) || isOfReturn || isAsked(chargeId);
      if (status === 'pending' && !isTracked) missing(`the pending refund ${refundId}`);
    }
    for (const [disputeId, { status }] of charge.disputes) {
      if (status === 'open' && !isAsked(chargeId)) missing(`the open dispute ${disputeId}`);
    }
    if (!charge.isOwn && leftOf(charge).leftMinor > 0 && !isReturned) missing(`the stray charge ${chargeId}`);
  }
  return found;
}

function pendingHoldChanges(chain: readonly Written<Transition>[]): readonly string[] {
  const pending = new Set<string>();
  for (const { row } of chain) {
    const { subject } = row;
    if (subject?.kind !== 'capture' && subject?.kind !== 'void') continue;
    if (subject.status === 'pending') pending.add(subject.operationId);
    else pending.delete(subject.operationId);
  }
  return [...pending];
}

export function checkOrderQueued(
  id: string,
  chain: readonly Written<OrderTransition>[],
  queued: Queued,
  { claims, world }: Pick<Seen, 'claims' | 'world'>,
): readonly Violation[] {
  const newest = chain.at(-1);
  if (newest === undefined || isSettled(newest.row.order)) return [];
  const { status, charge } = newest.row.order;
  const { atMs: reviewedAtMs } = chain.findLast(({ row }) => row.type === 'order.review_required') ?? newest;
  // An order whose payment is in review is watched for thirty days and then leaves the queue.
  const isInReview = status === 'needs_review' && charge.status === 'review';
  if (isInReview && world.nowMs - reviewedAtMs > 29 * DAY_MS) return [];
  if (claims.has(id) || queued.orders.has(id)) return [];
  return [{ oracle: ORACLE, what: `the order with status ${status} is in no queue`, about: id }];
}

/** A run needs one message, and duplicates must disappear soon. */
const MAX_MESSAGES = 100;

/** Called after every step. */
export function checkMessages({ crowds }: Observed): readonly Violation[] {
  return Object.entries(crowds).flatMap(([queue, messages]) => {
    if (!queue.endsWith('-jobs') || messages <= MAX_MESSAGES) return [];
    return [
      {
        oracle: 'the messages of a run end',
        what: `${messages} messages were in ${queue} at the same time`,
      },
    ];
  });
}

/**
 * Maximum time between the end of the faults and the response to a claimed request, in milliseconds: the send window of
 * a released claim, then two runs of the resolver.
 */
const ANSWER_MS = 45 * 60_000;

/**
 * Maximum time without a response while the claim's processor has no fault or outage, in milliseconds. Older claims may
 * wait longer, because the simulated resolver runs at intervals that grow up to the age of a claim.
 */
const WELL_ANSWER_MS = 60 * 60_000;

/** I7, B09: checks that an outage of one processor does not delay claims at the other processor. */
function checkAnsweredWhileWell({ claimed, payments, world }: Seen): readonly Violation[] {
  return [...claimed].flatMap(([operation, { fromMs, untilMs = world.nowMs }]) => {
    const letters = /^(?:pay|cap|can|ref)_([a-z2-7]{32})/.exec(operation)?.[1];
    const payment = payments.get(`pay_${letters}`)?.[0]?.row.payment;
    const own = payment === undefined ? '' : booksOf(payment);
    if (world.processors[own]?.inside.hasFailing !== false) return [];
    const troubles = world.troubles.filter((each) => isAbout(each.of, own) && each.fromMs < untilMs);
    const wellSinceMs = Math.max(fromMs, ...troubles.map((each) => each.untilMs ?? untilMs));
    const waitedMs = untilMs - wellSinceMs;
    if (waitedMs <= WELL_ANSWER_MS + wellSinceMs - fromMs) return [];
    const what = `the claim waited ${Math.round(waitedMs / 60_000)} minutes for a response while ${own} had no fault or outage`;
    return [{ oracle: 'I7 every claim is answered in time', what, about: operation }];
  });
}

/** I7: checks, once the system is quiet, that every claimed request of a caller got a response in time. */
export function checkAnswered(seen: Seen): readonly Violation[] {
  return [...checkAnsweredAfterFaults(seen), ...checkAnsweredWhileWell(seen)];
}

function checkAnsweredAfterFaults({ claimed, world: { faultsEndedAtMs = 0 } }: Seen): readonly Violation[] {
  return [...claimed].flatMap(([operation, { fromMs, untilMs = Number.POSITIVE_INFINITY }]) => {
    const waitedMs = untilMs - Math.max(fromMs, faultsEndedAtMs);
    if (!/^(?:pay|ord|cap|can|ref)_/.test(operation) || waitedMs <= ANSWER_MS) return [];
    const what = `the claim waited ${Math.round(waitedMs / 60_000)} minutes for a response after the end of the faults`;
    return [{ oracle: 'I7 every claim is answered in time', what, about: operation }];
  });
}

/** Called once the system is quiet. */
export function checkNothingLeft({ world, payments, orders, claims }: Seen): readonly Violation[] {
  const found: Violation[] = [];
  const left = (what: string, about?: string): void =>
    void found.push({ oracle: 'nothing is left once quiet', what, ...(about === undefined ? {} : { about }) });
  for (const claim of claims) if (!/^(?:biz|run|rca)_/.test(claim)) left('a claim has no response', claim);
  const charges = chargesByPayment(world);
  for (const [id, chain] of payments) {
    const newest = chain.at(-1)?.row.payment;
    if (newest === undefined) continue;
    const own = charges.get(id) ?? [];
    const isPendingThere = own.some(({ status }) => status === 'pending' || status === 'requires_action');
    if (newest.status === 'processing' && !isPendingThere) left('the payment is still processing', id);
    const isReportedCharge = isReported(world, newest, newest.chargeId) || isStuck(world, id);
    if (newest.status === 'requires_capture' && !isReportedCharge) left('the hold was not voided', id);
    const known = chargesOf(chain);
    for (const [chargeId, charge] of known) {
      const roomMinor = charge.capturedMinor - leftOf(charge).refundedMinor;
      for (const [refundId, { status, amountMinor }] of charge.refunds) {
        const there = own.flatMap(({ refunds }) => refunds).find((refund) => refund.refundId === refundId);
        if (status !== 'pending' || there?.status === 'pending') continue;
        // After a wrong decision, or if the processor captured more than it had shown, a successful refund may exceed
        // the captured amount. The refund then waits for an operator, and an alarm was raised (I9).
        const isBeyond = there?.status === 'succeeded' && amountMinor > roomMinor;
        const isAlarmed =
          isDecidedOtherwise(world, chain) ||
          isReported(world, newest, chargeId) ||
          isNameless(world, newest, chargeId, known);
        if (
          isLeftToOperator(world, newest, chargeId, { refundId, amountMinor }) ||
          isReportedOtherwise(world, newest, chargeId)
        )
          continue;
        if (!isBeyond || !isAlarmed) left(`the amount of the refund ${refundId} is reserved`, id);
      }
      if (!charge.isOwn && charge.status === 'authorized') {
        const there = own.find((each) => each.chargeId === chargeId);
        const isKnown = isShown(world, booksOf(newest), chargeId);
        if (there?.status === 'authorized' && isKnown) left(`the stray hold ${chargeId} was not voided`, id);
      }
      const { leftMinor } = leftOf(charge);
      if (!charge.isOwn && leftMinor > 0 && !isTried(world, id, chargeId)) {
        left(`${leftMinor} of the stray charge ${chargeId} was not returned`, id);
      }
      const failed = [...charge.refunds].filter(([refundId, { status }]) => isReturn(refundId) && status === 'failed');
      const isExcused =
        isReported(world, newest, chargeId) ||
        isReportedOtherwise(world, newest, chargeId) ||
        hasMaxDisputes(world, newest, known) ||
        // It is possible that the processor does not support a refund of the remaining amount.
        (world.settings.without !== undefined && isTried(world, id, chargeId));
      if (!charge.isOwn && leftMinor > 0 && failed.length > 0 && failed.length < FAILED_RETURNS && !isExcused) {
        left(`${failed.length} returns of ${chargeId} have failed, but no further return was attempted`, id);
      }
    }
  }
  for (const [id, chain] of orders) {
    const newest = chain.at(-1)?.row.order;
    if (newest === undefined || newest.status === 'needs_review' || isSettled(newest)) continue;
    // An order waits while the processor's books do not show the money that an operator decided about. An alarm reports
    // the difference.
    if (!isDecidedOtherwise(world, payments.get(newest.paymentId) ?? [])) left('the order is unfinished', id);
  }
  for (const [queue, messages] of Object.entries(world.queues)) {
    if (messages > 0 && !/parked|jobs|letters/i.test(queue)) left(`${messages} messages are in ${queue}`);
  }
  return found;
}
