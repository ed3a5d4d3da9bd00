import { RegistryRow } from '../kernel/contract/rows.ts';
import { DUE_SHARDS, dueSort } from '../kernel/due-sort.ts';
import { shardOf } from '../kernel/platform/items.ts';
import type { Commission, CommissionName } from './commission.ts';

export interface CommissionKey {
  readonly partition: string;
  readonly sort: string;
}

/**
 * Returns the keys of a commission's two rows: the affiliate's and the order's. Conditions of writes apply to the
 * order's row.
 */
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

export function commissionDueKey({
  paymentId,
  releasesAtMs,
}: Pick<Commission, 'paymentId' | 'releasesAtMs'>): CommissionKey {
  const shard = shardOf(paymentId, DUE_SHARDS);
  return { partition: commissionDuePartition(shard), sort: dueSort(releasesAtMs, paymentId) };
}

export function commissionDuePartition(shard: number): string {
  return `${RegistryRow.commissionDue}${shard}`;
}
