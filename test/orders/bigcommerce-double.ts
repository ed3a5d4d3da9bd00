import * as z from 'zod';
import { type Reply, TroubledServer } from './postmark-double.ts';

const STORE_HASH = 'st0re';
export const BIGCOMMERCE_TOKEN = 'bigcommerce-access-token';
export const LOCATION = 1;

const adjustment = z.strictObject({
  reason: z.string().max(255),
  items: z
    .array(z.strictObject({ location_id: z.literal(LOCATION), sku: z.string(), quantity: z.int() }))
    .min(1)
    .max(2_000),
});

/**
 * Simulates a BigCommerce store, which recognizes no idempotency keys. Each inventory adjustment is applied completely
 * or not at all. Every request that changes an order takes effect, including repeated requests.
 */
export class BigCommerceDouble extends TroubledServer {
  /** Oldest first. */
  readonly adjustments: z.infer<typeof adjustment>[] = [];
  readonly stock = new Map([
    ['sku_tea', 10],
    ['sku_mug', 1],
  ]);

  /** Staff notes, by order number. */
  readonly notes = new Map([[118, 'Gift wrap']]);

  constructor() {
    super((request, body) => {
      if (request.headers['x-auth-token'] !== BIGCOMMERCE_TOKEN) return { status: 401, body: '' };
      const { pathname } = new URL(request.url ?? '', 'http://bigcommerce');
      const root = `/stores/${STORE_HASH}/v3/inventory`;
      if (request.method === 'GET' && pathname === `${root}/locations`) return { status: 200, body: '{"data":[]}' };
      if (request.method === 'POST' && pathname === `${root}/adjustments/relative`) return this.#adjust(body);
      const [, order] = new RegExp(`^/stores/${STORE_HASH}/v2/orders/(\\d+)$`).exec(pathname) ?? [];
      if (order !== undefined && this.notes.has(Number(order))) return this.#order(Number(order), request.method, body);
      return { status: 404, body: '{"status":404,"title":"Not found."}' };
    });
  }

  get store(): string {
    return `${this.url}/stores/${STORE_HASH}`;
  }

  #order(id: number, method: string | undefined, body: string): Reply {
    if (method === 'PUT')
      this.notes.set(id, z.strictObject({ staff_notes: z.string() }).parse(JSON.parse(body)).staff_notes);
    return {
      status: 200,
      body: JSON.stringify({ id, status: 'Awaiting Fulfillment', staff_notes: this.notes.get(id) }),
    };
  }

  #adjust(body: string): Reply {
    const read = adjustment.safeParse(JSON.parse(body));
    if (!read.success) return { status: 422, body: '{"status":422,"title":"The request is malformed."}' };
    const { items } = read.data;
    if (items.some(({ sku, quantity }) => (this.stock.get(sku) ?? 0) + quantity < 0))
      return { status: 422, body: '{"status":422,"title":"The inventory would be negative."}' };
    for (const { sku, quantity } of items) this.stock.set(sku, (this.stock.get(sku) ?? 0) + quantity);
    this.adjustments.push(read.data);
    return { status: 200, body: JSON.stringify({ transaction_id: `t-${this.adjustments.length}`, meta: {} }) };
  }
}

export async function serveBigCommerce(): Promise<BigCommerceDouble> {
  const double = new BigCommerceDouble();
  await double.listen();
  return double;
}
