import type { Digest } from '../../kernel/digest.ts';
import { parseOrderId, paymentOfOrder } from '../../kernel/ids.ts';
import { detailsOf, type Transition } from '../domain/transition.ts';
import type { Effect } from './effect-store.ts';
import type { ChargeToReturn, Hold, OpenOrder } from './payment-store.ts';

/**
 * The queue entries that every writer of these transitions must write with them.
 *
 * @param first the first transition of the payment's chain
 */
export function queuedWith(
  digest: Digest,
  first: Transition,
  transitions: readonly Transition[],
): Pick<Effect, 'toReturn' | 'hold' | 'reopened'> {
  const reopened = orderToReopen(digest, first, transitions);
  return {
    toReturn: chargesToReturn(transitions),
    ...holdToEnd(transitions),
    ...(reopened === undefined ? {} : { reopened }),
  };
}

/** The entries in the queue of returns: one for each stray charge that these transitions record. */
export function chargesToReturn(transitions: readonly Transition[]): readonly ChargeToReturn[] {
  return transitions.flatMap(({ type, subject, payment, occurredAtMs }) => {
    if (type !== 'payment.late_success' || subject?.kind !== 'stray_charge') return [];
    const { chargeId, amountMinor, currency, status } = subject;
    return [
      {
        paymentId: payment.id,
        chargeId,
        by: status === 'captured' ? 'refund' : 'void',
        amountMinor,
        currency,
        foundAtMs: occurredAtMs,
      },
    ];
  });
}

/** The queue entry of a hold, when one of these transitions authorizes. A hold that is never captured must be voided. */
export function holdToEnd(transitions: readonly Transition[]): { readonly hold?: Hold } {
  const authorized = transitions.find(({ type }) => type === 'payment.authorized');
  if (authorized === undefined) return {};
  return { hold: { paymentId: authorized.payment.id, authorizedAtMs: authorized.occurredAtMs } };
}

/**
 * The queue entry that opens an order again: its cancellation relied on a refund, and a bank can reject a refund days
 * later.
 *
 * @param first the first transition of the payment's chain
 * @returns undefined when no refund failed, or the payment does not belong to an order
 */
function orderToReopen(digest: Digest, first: Transition, transitions: readonly Transition[]): OpenOrder | undefined {
  const failed = transitions.findLast(({ type }) => type === 'refund.failed');
  const orderId = parseOrderId(detailsOf(first).metadata?.['order'] ?? '');
  if (failed === undefined || orderId === undefined) return undefined;
  // The merchant chooses the metadata and may name any order.
  if (paymentOfOrder(digest, orderId) !== first.payment.id) return undefined;
  // A time cannot equal a sequence of the order's chain, so a worker that read an older entry cannot delete this one.
  return { orderId, createdAtMs: failed.occurredAtMs, sequence: failed.occurredAtMs };
}
