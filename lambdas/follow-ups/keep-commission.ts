import type { PayonceEvent } from '../events/domain/event.ts';
import { type Consumer, type ConsumeTools, consumeEvent, inOurTables } from '../once/use/consume-event.ts';
import type { ConsumerWrite, RowCondition } from '../once/use/consumer-records.ts';
import { type Consumed } from '../once/use/execute-once.ts';
import { type Commission, type CommissionedPayment, commissionAfter, orderOf, released } from './commission.ts';
import { commissionDueKey, commissionKeys } from './commission-rows.ts';

/** The consumer's name, for ever: what took effect is remembered under it. */
export const COMMISSIONS = 'commission';

/** One of COMMISSION_EVENT_TYPES. */
export type CommissionEvent = PayonceEvent & { readonly payment: CommissionedPayment };

/**
 * Keeps the affiliate's commission as the payment stands: `locked` when it is paid, less when a part is given back,
 * `canceled` when all is or a dispute is lost, and locked again when a refund fails. An order has one, of the first payment
 * whose event comes.
 *
 * @throws RetryableError or AmbiguousError, as the store: the event must come again
 */
export async function keepCommission(tools: ConsumeTools, event: CommissionEvent): Promise<Consumed> {
  // Nothing is remembered of the many that name no affiliate.
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
 * The order's row decides and the affiliate's row follows, both or neither:
 *
 *   payment.completed ── order's row older, and of this payment ✓ ── locked
 *   refund.completed  ── came first: order's row newer ✗ ── nothing is written, and it stays canceled
 *   another payment of the order, or for another affiliate ✗ ── nothing is written
 */
export function commissionWrites(commission: Commission): readonly ConsumerWrite[] {
  const { paymentId, sequence } = commission;
  const of = { attribute: 'payment', value: paymentId };
  return writesOf(commission, { kind: 'older', attribute: 'sequence', than: sequence, of });
}

/** Lets the affiliate have it, only as it was read: what came in since is read first. */
export function releaseWrites(locked: Commission): readonly ConsumerWrite[] {
  return writesOf(released(locked), { kind: 'equals', attribute: 'sequence', value: locked.sequence });
}

/** Only what is locked waits for its release. */
function writesOf(commission: Commission, when: RowCondition): readonly ConsumerWrite[] {
  const { tenantId, mode, affiliate, orderId, paymentId, amountMinor, currency, status } = commission;
  const { releasesAtMs, sequence } = commission;
  const keys = commissionKeys(commission);
  const table = 'registry';
  const due = { table, ...commissionDueKey(commission) } as const;
  const name = { tenant: tenantId, mode, affiliate, order: orderId, payment: paymentId, releasesAtMs };
  return [
    {
      kind: 'put',
      row: { table, ...keys.ofOrder },
      attributes: { payment: paymentId, affiliate, sequence },
      when,
      ...(when.kind === 'older' ? { otherwise: 'skip_all' } : {}),
    },
    {
      kind: 'put',
      row: { table, ...keys.own },
      attributes: { payment: paymentId, amountMinor, currency, status, releasesAtMs, sequence },
    },
    status === 'locked' ? { kind: 'put', row: due, attributes: name } : { kind: 'delete', row: due },
  ];
}
