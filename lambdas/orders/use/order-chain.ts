import { defined } from '../../kernel/defined.ts';
import type { OrderId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { Owner } from '../../tenants/owners.ts';
import type { Order } from '../domain/order.ts';
import { type OrderDetails, type OrderTransition, orderDetailsOf } from '../domain/order-transition.ts';
import { parseOrderId } from '../ids.ts';
import type { OrderStore } from './order-store.ts';

export interface OrderChain {
  readonly newest: OrderTransition;
  readonly order: Order;
  readonly details: OrderDetails;
  /** Time at which the order last went into review. @default the order was never in review */
  readonly reviewedAtMs?: number;
}

/** An order's chain is always shorter, because each step has only a few transitions. */
export const LONGEST_ORDER_CHAIN = 100;

export function orderChainOf(transitions: readonly OrderTransition[]): OrderChain {
  const [first] = transitions;
  const newest = transitions.at(-1);
  invariant(first !== undefined && newest !== undefined, 'the chain has no first transition');
  return { newest, order: newest.order, details: orderDetailsOf(first), ...reviewOf(transitions) };
}

export function withTransitions(chain: OrderChain, transitions: readonly OrderTransition[]): OrderChain {
  const newest = transitions.at(-1);
  return newest === undefined ? chain : { ...chain, newest, order: newest.order, ...reviewOf(transitions) };
}

function reviewOf(transitions: readonly OrderTransition[]): Pick<OrderChain, 'reviewedAtMs'> {
  const review = transitions.findLast(({ type }) => type === 'order.review_required');
  return defined({ reviewedAtMs: review?.occurredAtMs });
}

/**
 * @returns undefined when there is no such order
 * @throws RetryableError when the store is unavailable
 */
export async function readOrderChain(
  orders: Pick<OrderStore, 'listOrderTransitions'>,
  orderId: OrderId,
): Promise<OrderChain | undefined> {
  const transitions = await orders.listOrderTransitions(orderId, { afterSequence: 0, limit: LONGEST_ORDER_CHAIN });
  invariant(
    transitions.length < LONGEST_ORDER_CHAIN,
    `the order ${orderId} has ${LONGEST_ORDER_CHAIN} or more transitions`,
  );
  return transitions.length === 0 ? undefined : orderChainOf(transitions);
}

/**
 * @returns undefined when there is no such order, or it belongs to another tenant or mode
 * @throws RetryableError when the store is unavailable
 */
export async function readOrder(
  orders: Pick<OrderStore, 'listOrderTransitions'>,
  { tenantId, mode }: Owner,
  id: string,
): Promise<OrderChain | undefined> {
  const orderId = parseOrderId(id);
  const chain = orderId === undefined ? undefined : await readOrderChain(orders, orderId);
  return chain?.order.tenantId === tenantId && chain.order.mode === mode ? chain : undefined;
}
