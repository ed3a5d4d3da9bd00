import { parseOrderId } from '../../kernel/ids.ts';
import type { Caller } from '../../tenants/authenticate.ts';
import { type OrderChain, readOrderChain } from './order-chain.ts';
import type { OrderStore } from './order-store.ts';

/**
 * The current order, by a strongly consistent read.
 *
 * @returns undefined when there is no such order, or it belongs to another tenant or mode
 * @throws RetryableError when the store is unavailable
 */
export async function readOrder(
  orders: Pick<OrderStore, 'listOrderTransitions'>,
  { tenantId, mode }: Caller,
  id: string,
): Promise<OrderChain | undefined> {
  const orderId = parseOrderId(id);
  const chain = orderId === undefined ? undefined : await readOrderChain(orders, orderId);
  return chain?.order.tenantId === tenantId && chain.order.mode === mode ? chain : undefined;
}
