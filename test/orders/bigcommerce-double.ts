import * as z from 'zod';
import type { Clock } from '../../lambdas/kernel/world.ts';
import { type Reply, TroubledServer } from './postmark-double.ts';

export const STORE_HASH = 'st0re';
export const BIGCOMMERCE_TOKEN = 'bigcommerce-access-token';

const orderBody = z.object({
  status_id: z.number(),
  external_id: z.string(),
  external_order_id: z.string(),
  external_source: z.string(),
  staff_notes: z.string(),
  billing_address: z.object({ first_name: z.string(), email: z.string() }),
  products: z
    .array(
      z.object({
        name: z.string(),
        quantity: z.number().positive(),
        price_inc_tax: z.string(),
        price_ex_tax: z.string(),
      }),
    )
    .min(1),
});

export type MadeOrder = z.infer<typeof orderBody> & { readonly id: number; readonly madeAtMs: number };

/** Makes an order of every request, and lists it after a while. */
export class BigCommerceDouble extends TroubledServer {
  readonly orders: MadeOrder[] = [];
  /** How long a new order is missing in the list. */
  lagMs = 0;
  /** A store that passes over a filter that it does not know. */
  knowsFilter = true;

  constructor(clock: Pick<Clock, 'nowMs'>) {
    super((request, body) => {
      if (request.headers['x-auth-token'] !== BIGCOMMERCE_TOKEN) return { status: 401, body: '' };
      const url = new URL(request.url ?? '', 'http://bigcommerce');
      const root = `/stores/${STORE_HASH}/v2/orders`;
      if (request.method === 'GET' && url.pathname === `${root}/count`) {
        return { status: 200, body: JSON.stringify({ count: this.orders.length }) };
      }
      if (request.method === 'GET' && url.pathname === root) return this.#list(url, clock.nowMs());
      if (request.method === 'POST' && url.pathname === root) return this.#make(body, clock.nowMs());
      return { status: 404, body: '[{"status":404,"message":"Not found."}]' };
    });
  }

  #make(body: string, madeAtMs: number): Reply {
    const order = orderBody.safeParse(JSON.parse(body));
    if (!order.success) return { status: 400, body: '[{"status":400,"message":"The field is invalid."}]' };
    const made = { ...order.data, id: 100 + this.orders.length, madeAtMs };
    this.orders.push(made);
    return { status: 201, body: JSON.stringify(made) };
  }

  #list(url: URL, nowMs: number): Reply {
    const reference = this.knowsFilter ? url.searchParams.get('external_order_id') : null;
    const found = this.orders.filter(
      ({ madeAtMs, external_order_id }) =>
        nowMs >= madeAtMs + this.lagMs && (reference === null || external_order_id === reference),
    );
    // V2 answers an empty list with no content.
    return found.length === 0 ? { status: 204, body: '' } : { status: 200, body: JSON.stringify(found.slice(0, 50)) };
  }
}

export async function serveBigCommerce(clock: Pick<Clock, 'nowMs'>): Promise<BigCommerceDouble> {
  const double = new BigCommerceDouble(clock);
  await double.listen();
  return double;
}
