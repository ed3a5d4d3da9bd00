import type { OrderEvent, PaymentEvent } from '../events/domain/event.ts';
import { type Consumer, type ConsumeTools, consumeEvent, inOwnTables } from '../once/use/consume-event.ts';
import type { ConsumerWrite, RowCondition } from '../once/use/consumer-records.ts';
import { type Consumed } from '../once/use/execute-once.ts';
import { parseOrderId } from '../orders/ids.ts';
import {
  type Commission,
  type CommissionedOrder,
  type CommissionedPayment,
  commissionAfter,
  commissionOfOrder,
  orderOf,
} from './commission.ts';
import { commissionDueKey, commissionKeys } from './commission-rows.ts';

/** The handler name of the consumer. It must never change, because the effect records contain it. */
export const COMMISSIONS = 'commission';

export type CommissionPaymentEvent = PaymentEvent & { readonly payment: CommissionedPayment };

export type CommissionEvent =
  | CommissionPaymentEvent
  | (OrderEvent & { readonly event: { readonly data: { readonly object: CommissionedOrder } } });

/**
 * Updates the affiliate's commission. An order that is placed makes the commission `pending`; the payment of the order
 * makes it `locked`. A partial refund reduces the commission. A canceled order, a full refund or a lost dispute makes
 * it `canceled`. If a refund fails, the commission is `locked` again. An order has one commission, for the first
 * payment whose event is processed. (An order that Payonce processes has only one payment.)
 *
 * @throws RetryableError, AmbiguousError from the store: the event must be delivered again
 */
export async function keepCommission(tools: ConsumeTools, event: CommissionEvent): Promise<Consumed> {
  // Most payments and orders have no affiliate. Write no record for them.
  if (commissionFrom(event) === undefined) return { kind: 'done' };
  return consumeEvent<CommissionEvent>(tools, COMMISSION_CONSUMER, event);
}

const COMMISSION_CONSUMER: Consumer<CommissionEvent> = {
  handler: COMMISSIONS,
  key: commissionKey,
  handle: inOwnTables(async (event) => {
    const commission = commissionFrom(event);
    return commission === undefined ? [] : commissionWrites(commission);
  }),
};

function commissionFrom(event: CommissionEvent): Commission | undefined {
  return 'payment' in event ? commissionAfter(event, event.payment) : commissionOfOrder(event, event.event.data.object);
}

/**
 * The key `commission:<order>` belongs to the first event of an order: `order.placed` for an order that Payonce
 * processes, the payment's `payment.completed` for any other order.
 */
function commissionKey(event: CommissionEvent): string {
  if (event.event.type === 'order.placed' && 'order' in event) return `commission:${event.order.id}`;
  const order = event.event.type === 'payment.completed' && 'payment' in event ? orderOf(event.payment) : undefined;
  return order === undefined || parseOrderId(order) !== undefined
    ? `commission_change:${event.event.id}`
    : `commission:${order}`;
}

/**
 * Lists the writes of one transaction: the order's row, whose write has the condition, the affiliate's row, and the
 * queue entry:
 *
 *   order.placed      ── no row ✓ ── pending;  processed after any other event ✗ ── nothing is written
 *   order.canceled    ── only pending ✓ ── canceled;  paid before ✗ ── the refund cancels it
 *   payment.completed ── order's row older, and of this payment ✓ ── locked
 *   refund.completed  ── processed first: order's row newer ✗ ── nothing is written
 *   another payment of the order, or for another affiliate ✗ ── nothing is written
 */
export function commissionWrites(commission: Commission): readonly ConsumerWrite[] {
  const { paymentId, sequence } = commission;
  const of = { attribute: 'payment', value: paymentId };
  return writesOf(commission, { kind: 'older', attribute: 'sequence', than: sequence, of });
}

/**
 * The writes take effect only if the commission has not changed since it was read.
 * @param read the commission's `sequence` when it was read
 */
export function writesOfDecision(decided: Commission, read: Pick<Commission, 'sequence'>): readonly ConsumerWrite[] {
  return writesOf(decided, { kind: 'equals', attribute: 'sequence', value: read.sequence });
}

/**
 * After an event, the commission is queued for the decision from the state of the Ledger, even if it is canceled: after
 * an erasure, no event names the affiliate anymore. A decision removes the commission from the queue.
 */
function writesOf(commission: Commission, when: RowCondition): readonly ConsumerWrite[] {
  const { tenantId, mode, affiliate, orderId, paymentId, amountMinor, currency, status } = commission;
  const { releasesAtMs, sequence } = commission;
  const keys = commissionKeys(commission);
  const table = 'registry';
  const due = { table, ...commissionDueKey(commission) } as const;
  const name = { tenant: tenantId, mode, affiliate, order: orderId, payment: paymentId, releasesAtMs };
  const isEvent = when.kind === 'older';
  return [
    {
      kind: 'put',
      row: { table, ...keys.ofOrder },
      attributes: { payment: paymentId, affiliate, sequence },
      when,
      ...(isEvent ? { otherwise: 'skip_all' } : {}),
    },
    {
      kind: 'put',
      row: { table, ...keys.own },
      attributes: { payment: paymentId, amountMinor, currency, status, releasesAtMs, sequence },
    },
    isEvent ? { kind: 'put', row: due, attributes: name } : { kind: 'delete', row: due },
  ];
}
