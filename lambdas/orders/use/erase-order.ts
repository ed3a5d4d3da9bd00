import type { OrderId } from '../../kernel/ids.ts';
import type { RecordStore } from '../../once/use/record-store.ts';
import { isSettled, type Order } from '../domain/order.ts';
import { orderOperation } from '../ids.ts';
import { readOrderChain } from './order-chain.ts';
import type { OrderStore } from './order-store.ts';

export interface EraseOrderTools {
  readonly orders: Pick<OrderStore, 'listOrderTransitions'>;
  readonly records: Pick<RecordStore, 'readRecord'>;
  /** Deletes the details row, if it exists, and records the deletion in the activity log. */
  readonly erase: (order: Pick<Order, 'id' | 'tenantId' | 'mode'>) => Promise<unknown>;
}

/** In order of precedence. */
export type EraseOrderOutcome =
  | { readonly kind: 'not_found' }
  /** The contacts may still be needed. */
  | { readonly kind: 'unfinished' }
  | { readonly kind: 'erased' };

/** Repeating the erasure has no further effect. */
export async function eraseOrder(
  { orders, records, erase }: EraseOrderTools,
  orderId: OrderId,
): Promise<EraseOrderOutcome> {
  const chain = await readOrderChain(orders, orderId);
  if (chain === undefined) return { kind: 'not_found' };
  const record = await records.readRecord(orderOperation(orderId));
  if (!isSettled(chain.order) || record?.status === 'INPROGRESS') return { kind: 'unfinished' };
  await erase(chain.order);
  return { kind: 'erased' };
}
