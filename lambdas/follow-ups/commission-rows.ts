import { RegistryRow } from '../kernel/contract/rows.ts';
import { DUE_SHARDS, dueSort } from '../kernel/due-sort.ts';
import type { Commission, CommissionName } from './commission.ts';

/** Of a row of the Registry. */
export interface CommissionKey {
  readonly partition: string;
  readonly sort: string;
}

/** The affiliate's row, and the order's, which decides. */
export function commissionKeys({ tenantId, mode, affiliate, orderId }: CommissionName): {
  readonly own: CommissionKey;
  readonly ofOrder: CommissionKey;
} {
  const owner = `${tenantId}#${mode}`;
  return {
    own: { partition: `${RegistryRow.commission}${owner}#${affiliate}`, sort: orderId },
    ofOrder: { partition: `${RegistryRow.commissionOfOrder}${owner}#${orderId}`, sort: 'newest' },
  };
}

/** Where one that is locked stands in the queue by the time of its release. */
export function commissionDueKey({
  paymentId,
  releasesAtMs,
}: Pick<Commission, 'paymentId' | 'releasesAtMs'>): CommissionKey {
  const shard = (paymentId.codePointAt(paymentId.length - 1) ?? 0) % DUE_SHARDS;
  return { partition: commissionDuePartition(shard), sort: dueSort(releasesAtMs, paymentId) };
}

export function commissionDuePartition(shard: number): string {
  return `${RegistryRow.commissionDue}${shard}`;
}
