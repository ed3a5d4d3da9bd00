import { tenantId } from '../../lambdas/kernel/ids.ts';
import type { Mismatch } from '../../lambdas/reconciliation/domain/compare-books.ts';
import type { ComparisonSubject } from '../../lambdas/reconciliation/domain/mismatch-view.ts';
import { paymentIdFor } from '../payments/payment-fixtures.ts';

export function comparedPayment(key: string, changes: Partial<ComparisonSubject> = {}): ComparisonSubject {
  return {
    books: { name: 'sandbox', mode: 'test', account: 'sandbox' },
    owner: { tenantId: tenantId('ten_desk'), mode: 'test' },
    subject: paymentIdFor(key),
    createdAtMs: Date.UTC(2026, 2, 1, 12),
    currency: 'EUR',
    ...changes,
  };
}

export function differsBy(processorMinor: number, ledgerMinor = 1000): Mismatch {
  return { currency: 'EUR', processorMinor, ledgerMinor, chargeIds: ['ch_1'], kind: 'amounts_differ' };
}
