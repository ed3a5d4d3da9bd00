import type { Cause } from '../../kernel/cause.ts';
import type { OrderId } from '../../kernel/ids.ts';
import { nextLookUpMs } from '../../kernel/looks.ts';
import type { OpenRecord } from '../../once/domain/idempotency.ts';
import { isSettled, type Order } from '../../orders/domain/order.ts';
import { REVIEW_WATCH_MS } from '../../orders/domain/order-limits.ts';
import type { OrderCall } from '../../orders/domain/order-steps.ts';
import { contactsOf } from '../../orders/domain/order-transition.ts';
import { parseOrderId } from '../../orders/ids.ts';
import { createOrder, DRIVE_FOR_MS } from '../../orders/use/create-order.ts';
import { appendDrafts, type Drive, driveOrder, recordFacts } from '../../orders/use/drive-order.ts';
import { NothingBegun, type OrderTools } from '../../orders/use/order-calls.ts';
import { type OrderChain, readOrderChain } from '../../orders/use/order-chain.ts';
import { readChain } from '../../payments/use/payment-chain.ts';
import { type OpenOrder, orderSchedule } from '../../payments/use/payment-store.ts';
import { knownProcessors, pinnedProcessor, processorFor } from '../../payments/use/pinned-processor.ts';
import { laneOf } from './lanes.ts';
import { each, type ItemResult, MAX_AT_ONCE, NotReached, type Resolved } from './process-entries.ts';
import { type ResolveTools, resultOfClaim } from './resolve.ts';

interface ResolveOrderTools extends OrderTools {
  /** The job run, recorded as the cause of the transitions that it writes. */
  readonly cause: Cause;
}

/** Finishes a stale claim of an order, as a retry by its caller would. */
export async function finishOrderClaim(tools: ResolveOrderTools, record: OpenRecord): Promise<ItemResult | undefined> {
  const { fingerprint } = record;
  const orderId = parseOrderId(record.operationId);
  if (orderId === undefined) return undefined;
  const chain = await readOrderChain(tools.orders, orderId);
  // A restore has lost the order but kept its claim. The recovery (`closeRemnants`) removes the claim.
  if (chain === undefined) return 'waiting';
  const { order, details } = chain;
  const { tenantId, mode, amountMinor, currency } = order;
  // The chain contains the order's contacts, unless a restore has lost them. The e-mail address is then empty.
  const { requestId, source, items, email = '' } = details;
  const { cause } = tools;
  const asked = { cause, orderId, tenantId, mode, fingerprint, requestId, amountMinor, currency, source, items };
  const outcome = await createOrder(tools, { ...asked, ...contactsOf({ ...details, email }) });
  return resultOfClaim(tools, outcome.kind, record);
}

/**
 * Processes orders that are not settled although their requests were answered, for example because of an unknown
 * charge, a late e-mail or an open reversal. Only transitions are appended; the stored response does not change.
 *
 * @param startedAtMs scheduled time of the run, in Unix milliseconds; orders that become due later are left to the next
 * run, even if the run is late or its earlier queues take more than a minute
 */
export async function resolveOrders(
  tools: ResolveOrderTools & Pick<ResolveTools, 'deadlineMs'>,
  startedAtMs: number = tools.clock.nowMs(),
): Promise<Resolved> {
  const { orders, clock } = tools;
  return each(tools, await orders.openOrders({ untilMs: startedAtMs, limit: MAX_AT_ONCE }), {
    about: ({ orderId }) => orderId,
    handle: async (open, enter) => {
      const nowMs = clock.nowMs();
      const before = await readOrderChain(orders, open.orderId);
      // A restore has lost the order but kept its queue entry.
      if (before === undefined) return 'finished';
      const ofPayment = await laneOfPayment(tools, before.order);
      const missed: NotReached[] = [];
      const { chain, isUnread } = await driveOn(tools, open.orderId, before, async (call) => {
        try {
          await enter(LANES[call] ?? ofPayment);
        } catch (error) {
          if (!(error instanceof NotReached)) throw error;
          missed.push(error);
        }
        return missed.length === 0;
      });
      const [notReached] = missed;
      if (notReached !== undefined) throw notReached;
      const isDone = !isUnread && (isSettled(chain.order) || (await isReviewOver(tools, chain, open, nowMs)));
      return isDone ? 'finished' : 'waiting';
    },
    close: (open) => orders.closeOrder(open),
    keep: (open) => orders.postponeOrder(open, nextLookUpMs(orderSchedule(open), startedAtMs)),
  });
}

/**
 * Returns whether the resolver may stop processing an order in review. It may if the order has been in review for more
 * than {@link REVIEW_WATCH_MS}, and now waits only for the end of its payment's review, because that end reopens the
 * order. If the order waits for something else (its reversal, the release of its goods, or the processor's books after
 * the payment's review), nothing reopens it, so the resolver continues. When an order is reopened, the time starts
 * again.
 */
async function isReviewOver(
  { store }: ResolveOrderTools,
  { order, reviewedAtMs = order.createdAtMs }: OrderChain,
  open: OpenOrder,
  nowMs: number,
): Promise<boolean> {
  if (order.status !== 'needs_review' || order.charge.status !== 'review') return false;
  if (nowMs - Math.max(reviewedAtMs, open.createdAtMs) <= REVIEW_WATCH_MS) return false;
  const chain = await readChain(store, order.paymentId);
  return chain?.state.payment.status === 'needs_review';
}

/** All other calls use the lane of the payment's processor. */
const LANES: Readonly<Partial<Record<OrderCall, string>>> = {
  reserve: 'stock',
  find_reservation: 'stock',
  release: 'stock',
  send_email: 'mail',
  credit: 'referrals',
};

async function laneOfPayment(tools: ResolveOrderTools, order: Order): Promise<string> {
  const chain = knownProcessors(tools).length < 2 ? undefined : await readChain(tools.store, order.paymentId);
  const processor = chain === undefined ? processorFor(tools, order) : pinnedProcessor(tools, chain.first);
  return typeof processor === 'object' ? laneOf(processor) : 'no processor';
}

/**
 * @returns the order's chain, and whether its payment must still be read, because the merchant may have regained money
 * after the cancellation
 */
async function driveOn(
  tools: ResolveOrderTools,
  orderId: OrderId,
  chain: OrderChain,
  mayCall: NonNullable<Drive['mayCall']>,
): Promise<{ readonly chain: OrderChain; readonly isUnread: boolean }> {
  const { cause } = tools;
  try {
    const untilMs = tools.clock.nowMs() + DRIVE_FOR_MS;
    const driven = await driveOrder(tools, chain, { cause, untilMs, nothingSent: false, mayCall });
    const isRead = driven.learnt.some(({ kind }) => kind === 'reversed');
    const result = (after: OrderChain) => ({
      chain: after,
      isUnread: chain.order.status === 'canceled' && after.order.charge.status === 'reversed' && !isRead,
    });
    if (driven.drafts.length === 0) return result(driven.chain);
    const appended = await appendDrafts(tools, driven.chain, driven.drafts, cause);
    if (appended !== undefined) return result(appended);
    // A rival wrote first. The next run continues from there.
    await recordFacts(tools, orderId, driven.learnt, cause);
    return result(driven.chain);
  } catch (error) {
    throw error instanceof NothingBegun ? error.cause : error;
  }
}
