import { bookPartition, entrySortKey, type ViewOwner } from '../../lambdas/views/domain/lists.ts';
import type { PostingRow, ViewRow } from '../../lambdas/views/domain/views.ts';
import { paymentIdFor } from '../payments/payment-fixtures.ts';

/**
 * Returns the rows that the projector writes to the books for this many payments, one payment per millisecond. Each
 * payment has two entries of the same amount.
 */
export function bookRows(owner: ViewOwner, count: number, fromMs: number): readonly ViewRow[] {
  return Array.from({ length: count }, (_, index) => {
    const paymentId = paymentIdFor(`${owner.tenantId}-${index}`);
    const leg = { amountMinor: 1 + (index % 1_000), currency: 'EUR' };
    const set: PostingRow = {
      occurredAtMs: fromMs + index,
      paymentId,
      sequence: 2,
      type: 'payment.completed',
      legs: [
        { ...leg, account: 'processor_clearing', direction: 'debit', leg: 0 },
        { ...leg, account: 'merchant_payable', direction: 'credit', leg: 1 },
      ],
    };
    const key = { partition: bookPartition(owner, 'all', paymentId), sort: entrySortKey(set) };
    return { ...key, chainId: paymentId, sequence: 2, body: JSON.stringify(set) };
  });
}
