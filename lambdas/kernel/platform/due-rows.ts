import * as z from 'zod';
import { type Item, shardOf } from '../../payments/store/items.ts';
import type { Hold } from '../../payments/use/payment-store.ts';
import { RegistryRow } from '../contract/rows.ts';
import { KeyAttribute } from '../contract/tables.ts';
import { DUE_SHARDS, dueSort } from '../due-sort.ts';
import type { PaymentId } from '../ids.ts';

/** One kind of queue by time. */
export interface DueRows<Row> {
  readonly partition: (shard: number) => string;
  readonly keyOf: (row: Row) => Item;
  readonly parse: (item: Item) => Row;
}

const holdItem = z.object({
  paymentId: z.string().transform((id) => id as PaymentId),
  authorizedAtMs: z.int(),
});

export const HOLDS: DueRows<Hold> = {
  partition: (shard) => `${RegistryRow.hold}${shard}`,
  keyOf: ({ paymentId, authorizedAtMs }) => ({
    [KeyAttribute.partition]: HOLDS.partition(shardOf(paymentId) % DUE_SHARDS),
    [KeyAttribute.sort]: dueSort(authorizedAtMs, paymentId),
  }),
  parse: (item) => holdItem.parse(item),
};

export function holdRow(hold: Hold): Item {
  return { ...HOLDS.keyOf(hold), ...hold };
}
