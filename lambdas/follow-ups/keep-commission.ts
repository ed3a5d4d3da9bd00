import type { PaymentEvent } from '../events/domain/event.ts';
import { type Consumer, type ConsumeTools, consumeEvent, inOurTables } from '../once/use/consume-event.ts';
import type { ConsumerWrite, RowCondition } from '../once/use/consumer-records.ts';
import { type Consumed } from '../once/use/execute-once.ts';
import { type Commission, type CommissionedPayment, commissionAfter, orderOf } from './commission.ts';
import { commissionDueKey, commissionKeys } from './commission-rows.ts';

/** The handler name of the consumer. It must never change, because the effect records contain it. */
export const COMMISSIONS = 'commission';

/** An event of one of `COMMISSION_EVENTS`. */
export type CommissionEvent = PaymentEvent & { readonly payment: CommissionedPayment };

/**
 * Updates the affiliate's commission from the payment: `locked` when it is paid, reduced by a partial refund, `canceled` by a
 * full refund or a lost dispute, and locked again when a refund fails. An order has one commission, for the first payment
 * whose event is processed.
 *
 * @throws RetryableError, AmbiguousError from the store: the event must be delivered again
 */
export async function keepCommission(tools: ConsumeTools, event: CommissionEvent): Promise<Consumed> {
  // Most payments name no affiliate. No record is written for them.
  if (commissionAfter(event, event.payment) === undefined) return { kind: 'done' };
  return consumeEvent<CommissionEvent>(tools, COMMISSION_CONSUMER, event);
}

const COMMISSION_CONSUMER: Consumer<CommissionEvent> = {
  handler: COMMISSIONS,
  key: ({ event, payment }) =>
    event.type === 'payment.completed' ? `commission:${orderOf(payment)}` : `commission_change:${event.id}`,
  handle: inOurTables(async (event) => {
    const commission = commissionAfter(event, event.payment);
    return commission === undefined ? [] : commissionWrites(commission);
  }),
};

/**
 * One transaction writes the order's row, which has the condition, and the affiliate's row:
 *
 *   payment.completed ── order's row older, and of this payment ✓ ── locked
 *   refund.completed  ── processed first: order's row newer ✗ ── nothing is written
 *   another payment of the order, or for another affiliate ✗ ── nothing is written
 */
export function commissionWrites(commission: Commission): readonly ConsumerWrite[] {
  const { paymentId, sequence } = commission;
  const of = { attribute: 'payment', value: paymentId };
  return writesOf(commission, { kind: 'older', attribute: 'sequence', than: sequence, of });
}

/** Writes what the Ledger decided, if the commission is unchanged since it was read. @param read with the `sequence` that was read */
export function decidedWrites(decided: Commission, read: Pick<Commission, 'sequence'>): readonly ConsumerWrite[] {
  return writesOf(decided, { kind: 'equals', attribute: 'sequence', value: read.sequence });
}

/** An event queues the commission, canceled or not, until the Ledger decides it: after an erasure, no later event names it. */
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
