import type { DatabaseSync } from 'node:sqlite';
import { Hono } from 'hono';
import { html } from 'hono/html';
import { createClient, type Order } from '../../client/client.ts';
import { isProblem, PayonceError } from '../../client/errors.ts';
import { type StoredAnswer, type StoredRequest, storedIn } from '../../client/key-store.ts';
import { verifyWebhook } from '../../client/webhooks.ts';

/*
 * A tea shop that is paid with Payonce. The row of a purchase contains the key and the body of its payment, so a crash,
 * a reload or a double click at any moment charges only once. Goods are shipped on `paid`, and a purchase can become
 * `canceled` later.
 */

export interface ShopOptions {
  readonly database: DatabaseSync;
  readonly apiUrl: string;
  readonly apiKey: string;
  /** The secrets of the webhook endpoint: the current one, and the previous one while Payonce signs with both. */
  readonly webhookSecrets: readonly string[];
}

interface Purchase {
  readonly id: string;
  readonly sku: string;
  readonly source: string;
  readonly status: 'open' | 'pending' | 'paid' | 'canceled';
  readonly request: string | null;
  readonly answer: string | null;
}

const TABLE = `CREATE TABLE IF NOT EXISTS purchases (
  id TEXT PRIMARY KEY, sku TEXT NOT NULL, source TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'open',
  request TEXT, answer TEXT, order_id TEXT UNIQUE, sequence INTEGER NOT NULL DEFAULT 0) STRICT`;
const PRICE = { amount: 2_000, currency: 'EUR' } as const;
const STATUS: Readonly<Record<string, Purchase['status']>> = {
  processing: 'pending',
  needs_review: 'pending',
  completed: 'paid',
  canceled: 'canceled',
};
/** Returns the client's key store: columns of the purchase's own row. Each purchase is one operation. */
function purchasesIn(database: DatabaseSync) {
  database.exec(TABLE);
  const find = (id: string) => database.prepare('SELECT * FROM purchases WHERE id = ?').get(id) as Purchase | undefined;
  return {
    find,
    putIfAbsent: (request: StoredRequest) => {
      database
        .prepare('UPDATE purchases SET request = ? WHERE id = ? AND request IS NULL')
        .run(JSON.stringify(request), request.operation);
      const { request: stored, answer } = find(request.operation) ?? {};
      return storedIn(stored, answer);
    },
    /**
     * Writes the response and the status only if no response is stored. After the first response, a webhook may have
     * reported a newer status.
     */
    keepAnswer: ({ operation }: Pick<StoredRequest, 'operation'>, answer: StoredAnswer) => {
      const value = JSON.parse(answer.body) as Partial<Order> & { readonly order?: Order };
      const { id, status } = value.order ?? value;
      database
        .prepare('UPDATE purchases SET answer = ?, status = ?, order_id = ? WHERE id = ? AND answer IS NULL')
        .run(JSON.stringify(answer), STATUS[status ?? ''] ?? 'canceled', id ?? null, operation);
    },
  };
}

export function shop({ database, apiUrl, apiKey, webhookSecrets }: ShopOptions) {
  const purchases = purchasesIn(database);
  const client = createClient({ url: apiUrl, apiKey, keys: purchases });
  const app = new Hono();

  async function pay({ id, sku, source }: Purchase): Promise<void> {
    const params = { ...PRICE, source, items: [{ sku, quantity: 1 }], email: 'ada@example.com' };
    const paying = client.orders.create(params, { operation: id }).catch(async (error: unknown) => {
      if (!isProblem(error, 'idempotency_key_expired')) throw error;
      // After a long outage of this shop, the stored response has expired, but the order can still be read.
      const order = await client.orders.retrieve(String(error.problem.order_id));
      purchases.keepAnswer({ operation: id }, { status: 200, body: JSON.stringify(order) });
    });
    await paying.catch((error: unknown) => {
      // The row contains the outcome. Without a response, the purchase stays open, and `resume` continues it.
      if (!(error instanceof PayonceError)) throw error;
      console.error(error.message);
    });
  }

  // The form contains the purchase's id, so sending the form twice makes only one purchase.
  app.get('/', (c) =>
    c.html(html`<!doctype html><title>Tea</title>
      <form method="post" action="/purchases/${crypto.randomUUID()}">
        <input type="hidden" name="sku" value="sku_tea" /><input name="source" value="tok_ok" />
        <button>Buy tea for 20.00 EUR</button>
      </form>`),
  );

  app.post('/purchases/:id', async (c) => {
    const { sku, source } = await c.req.parseBody();
    if (typeof sku !== 'string' || typeof source !== 'string') return c.text('sku and source are required', 400);
    const id = c.req.param('id');
    database.prepare('INSERT OR IGNORE INTO purchases (id, sku, source) VALUES (?, ?, ?)').run(id, sku, source);
    await pay(purchases.find(id) as Purchase);
    return c.redirect(`/purchases/${id}`, 303);
  });

  app.get('/purchases/:id', async (c) => {
    const purchase = purchases.find(c.req.param('id'));
    if (purchase === undefined) return c.notFound();
    const { status, request, answer } = purchase;
    const order =
      status === 'pending' ? (JSON.parse(storedIn(request, answer).answer?.body ?? '{}') as Order) : undefined;
    const payment = order?.payment === undefined ? undefined : await client.payments.retrieve(order.payment);
    const action = payment?.next_action?.url;
    return c.html(html`<!doctype html><title>Your tea</title>
      <p>Your purchase is <b>${status}</b>.</p>
      ${action === undefined ? '' : html`<a href="${action}">Approve the payment</a>`}`);
  });

  app.post('/webhooks', async (c) => {
    const body = new Uint8Array(await c.req.arrayBuffer());
    const event = await verifyWebhook(body, c.req.raw.headers, { secrets: webhookSecrets }).catch(() => undefined);
    if (event === undefined) return c.text('not signed by Payonce', 401);
    // `order.completed` and `order.canceled` end a purchase. Before that, the order may be in review or reopened.
    const order = event.data.object as Order;
    if (order.object !== 'order') return c.body(null, 204);
    // Events can arrive more than once, and in any order; only a higher sequence changes the purchase.
    database
      .prepare('UPDATE purchases SET status = ?, sequence = ? WHERE order_id = ? AND sequence < ?')
      .run(STATUS[order.status] ?? 'pending', event.sequence, order.id, event.sequence);
    // Until the response is stored, the shop does not know the purchase's order, so 503 makes Payonce redeliver the
    // event.
    const known = database.prepare('SELECT 1 FROM purchases WHERE order_id = ?').get(order.id);
    return known === undefined ? c.text('not known yet', 503) : c.body(null, 204);
  });

  /** Continues purchases that a crash or an outage left open. Call it at the start and every minute. */
  async function resume(): Promise<void> {
    for (const purchase of database.prepare('SELECT * FROM purchases WHERE answer IS NULL').all())
      await pay(purchase as unknown as Purchase);
  }

  return { app, resume };
}
