import type { Digest } from '../../kernel/digest.ts';
import { parseOrderId, paymentOfOrder } from '../../kernel/ids.ts';
import { detailsOf, type Transition } from '../domain/transition.ts';
import type { Effect } from './effect-store.ts';
import type { ChargeToReturn, Hold, OpenOrder } from './payment-store.ts';

/**
 * The queue entries that are written together with these transitions, whoever writes them.
 *
 * @param first of the payment's chain
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

/** The queue entries that go with these transitions: money that turned up where none may be is sent back. */
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

/** The queue entry that goes with these transitions, when one of them sets money aside: nobody may come to capture it. */
export function holdToEnd(transitions: readonly Transition[]): { readonly hold?: Hold } {
  const authorized = transitions.find(({ type }) => type === 'payment.authorized');
  if (authorized === undefined) return {};
  return { hold: { paymentId: authorized.payment.id, authorizedAtMs: authorized.occurredAtMs } };
}

/**
 * The queue entry that goes with these transitions: an order may have been canceled because its money went back, and a bank
 * refuses a refund days later.
 *
 * @param first of the payment's chain
 * @returns undefined when no refund failed, or the payment is no order's
 */
function orderToReopen(digest: Digest, first: Transition, transitions: readonly Transition[]): OpenOrder | undefined {
  const failed = transitions.findLast(({ type }) => type === 'refund.failed');
  const orderId = parseOrderId(detailsOf(first).metadata?.['order'] ?? '');
  if (failed === undefined || orderId === undefined) return undefined;
  // The metadata is the merchant's: it may name any order.
  if (paymentOfOrder(digest, orderId) !== first.payment.id) return undefined;
  // The time is no place in the order's chain: whoever closes an entry that he read before does not close this one.
  return { orderId, createdAtMs: failed.occurredAtMs, sequence: failed.occurredAtMs };
}
