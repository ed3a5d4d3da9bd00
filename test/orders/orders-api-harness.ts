import { authenticatedApi } from '../../lambdas/http/authenticated-api.ts';
import type { GatewayEvent, GatewayResult } from '../../lambdas/http/gateway-request.ts';
import { AmbiguousError } from '../../lambdas/kernel/faults.ts';
import { orderOperation, parseOrderId } from '../../lambdas/kernel/ids.ts';
import { ProcessReplayCache } from '../../lambdas/once/process-records.ts';
import { ORDER_ROUTES } from '../../lambdas/orders/http/order-routes.ts';
import type { OrderTools } from '../../lambdas/orders/use/order-calls.ts';
import { getOrders } from '../../lambdas/views/http/order-list.ts';
import type { ListOrdersTools } from '../../lambdas/views/use/list-orders.ts';
import { API_KEY, ApiHarness, type Asked, type Reply } from '../payments/payments-api-harness.ts';
import { ProjectedViews } from '../views/projected-views.ts';
import { Stores } from '../world/stores.ts';
import { OrderHarness } from './order-harness.ts';

const TEA = {
  amount: 2_000,
  currency: 'EUR',
  source: 'tok_ok',
  items: [{ sku: 'sku_tea', quantity: 2 }],
  email: 'ada@example.com',
  referrer: 'ref_friend',
};

/** The orders API with everything behind it in memory. */
export class OrdersApiHarness extends ApiHarness {
  readonly harness: OrderHarness;
  readonly #changes: Partial<OrderTools>;

  /** @param harness what is behind it; a second API on the same is another process */
  constructor(changes: Partial<OrderTools> = {}, harness: OrderHarness = new OrderHarness()) {
    super();
    this.harness = harness;
    this.#changes = changes;
    this.registerKey(API_KEY, {});
  }

  protected open(): (event: GatewayEvent) => Promise<GatewayResult> {
    const { keys, telemetry } = this;
    const report = (error: unknown) => telemetry.fault('orders', error);
    const tools = { ...this.harness.tools, report, replays: new ProcessReplayCache(), ...this.#changes };
    const { orders } = this.#changes;
    const views = new ProjectedViews(orders instanceof Stores ? orders : this.harness.store);
    const routes = [...ORDER_ROUTES, getOrders];
    return authenticatedApi<OrderTools & ListOrdersTools>(routes, { ...tools, views, keys, telemetry });
  }

  /** Orders tea for 20.00 EUR, on a friend's word, unless `body` says otherwise. */
  order(key: string, body: Readonly<Record<string, unknown>> = {}, asked: Asked = {}): Promise<Reply> {
    return this.post(JSON.stringify({ ...TEA, ...body }), {
      ...asked,
      headers: { 'Idempotency-Key': key, ...asked.headers },
    });
  }

  post(body: string, { headers, event }: Asked = {}): Promise<Reply> {
    return this.ask('POST', '/v1/orders', {
      headers: { 'Content-Type': 'application/json', ...headers },
      event: { body, ...event },
    });
  }
}

const GONE = { items: [{ sku: 'sku_none', quantity: 2 }] };

/** How to be answered with each problem that orders alone have. */
export const PROVOKED_ORDERS = {
  out_of_stock: () => new OrdersApiHarness().order('k', GONE),
  order_not_attempted: notAttempted,
  order_canceled: givenUp,
} as const;

/** Refused before anything was sent, and asked for again when nobody may send any more. */
async function notAttempted(): Promise<Reply> {
  const api = new OrdersApiHarness();
  await api.order('k', { source: 'tok_unauthorized' });
  api.harness.clock.advance(16 * 60_000);
  return api.order('k', { source: 'tok_unauthorized' });
}

/** The owner dies when it has paid; the stock is silent for an hour, and the client asks again then. */
async function givenUp(): Promise<Reply> {
  const harness = new OrderHarness();
  const { stock } = harness.shop;
  const silent: OrderTools['stock'] = {
    ...stock,
    reserve: async (...call) => {
      await stock.reserve(...call);
      throw new AmbiguousError('shop_timeout', 'No answer in time.');
    },
  };
  const orders: OrderTools['orders'] = {
    claimOrder: (claim) => harness.store.claimOrder(claim),
    commitOrder: () => Promise.reject(new Error('the process is gone')),
    appendToOrder: (append) => harness.store.appendToOrder(append),
    listOrderTransitions: (id, page) => harness.store.listOrderTransitions(id, page),
    openOrders: (limit) => harness.store.openOrders(limit),
    closeOrder: (open) => harness.store.closeOrder(open),
  };
  await new OrdersApiHarness({ orders, stock: silent }, harness).order('k');
  harness.clock.advance(61 * 60_000);
  return new OrdersApiHarness({}, harness).order('k');
}

/** As time to live does. */
export function forget({ harness }: OrdersApiHarness, reply: Reply): void {
  const orderId = parseOrderId(String(reply.body['id']));
  if (orderId === undefined) throw new Error('there is no order in the answer');
  harness.store.deleteRecord(orderOperation(orderId));
}
