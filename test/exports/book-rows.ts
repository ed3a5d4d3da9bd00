import { bookPartition, entrySortKey, type ViewOwner } from '../../lambdas/views/domain/lists.ts';
import type { PostingRow, ViewRow } from '../../lambdas/views/domain/views.ts';
import { paymentIdFor } from '../payments/payment-fixtures.ts';

/**
 * Returns the rows as the projector writes them, with one payment per millisecond. The amounts of the pairs go from 1
 * to 1,000 and then repeat.
 */
export function bookRows(owner: ViewOwner, count: number, fromMs: number, pairs = 1): readonly ViewRow[] {
  return Array.from({ length: count }, (_, index) => {
    const paymentId = paymentIdFor(`${owner.tenantId}-${index}`);
    const set: PostingRow = {
      occurredAtMs: fromMs + index,
      paymentId,
      sequence: 2,
      type: 'payment.completed',
      legs: Array.from({ length: pairs }, (__, pair) => {
        const leg = { amountMinor: 1 + ((index * pairs + pair) % 1_000), currency: 'EUR' };
        return [
          { ...leg, account: 'processor_clearing', direction: 'debit', leg: 2 * pair },
          { ...leg, account: 'merchant_payable', direction: 'credit', leg: 2 * pair + 1 },
        ] as const;
      }).flat(),
    };
    const key = { partition: bookPartition(owner, 'all', paymentId), sort: entrySortKey(set) };
    return { ...key, chainId: paymentId, sequence: 2, body: JSON.stringify(set) };
  });
}
