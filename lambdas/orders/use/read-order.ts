import { parseOrderId } from '../../kernel/ids.ts';
import type { Caller } from '../../tenants/authenticate.ts';
import { type OrderChain, readOrderChain } from './order-chain.ts';
import type { OrderStore } from './order-store.ts';

/**
 * The order as it stands, read consistently: what was answered is there.
 *
 * @returns undefined when the caller has none of that name: what is not his does not exist
 * @throws RetryableError when it cannot be read now
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
