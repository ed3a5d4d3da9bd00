import type { Digest } from '../../kernel/digest.ts';
import { parseOrderId, paymentOfOrder } from '../../kernel/ids.ts';
import { detailsOf, type Transition } from '../domain/transition.ts';
import type { OpenOrder } from './payment-store.ts';

/**
 * The queue entry that goes with these transitions: an order may have been canceled because its money went back, and a bank
 * refuses a refund days later.
 *
 * @param first of the payment's chain
 * @returns undefined when no refund failed, or the payment is no order's
 */
export function orderToReopen(
  digest: Digest,
  first: Transition,
  transitions: readonly Transition[],
): OpenOrder | undefined {
  const failed = transitions.findLast(({ type }) => type === 'refund.failed');
  const orderId = parseOrderId(detailsOf(first).metadata?.['order'] ?? '');
  if (failed === undefined || orderId === undefined) return undefined;
  // A merchant may write what he likes into his payments' metadata.
  if (paymentOfOrder(digest, orderId) !== first.payment.id) return undefined;
  // The time is no place in the order's chain: whoever closes an entry that he read before does not close this one.
  return { orderId, createdAtMs: failed.occurredAtMs, sequence: failed.occurredAtMs };
}
