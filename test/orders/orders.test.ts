import { beforeEach, describe, expect, test } from '@jest/globals';
import { ALL_SCOPES, Scopes } from '../../lambdas/kernel/contract/api.ts';
import { AmbiguousError } from '../../lambdas/kernel/faults.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { orderOperation, parseOrderId } from '../../lambdas/orders/ids.ts';
import type { OrderTools } from '../../lambdas/orders/use/order-calls.ts';
import { Api, as, OTHER_KEY } from '../world/api.ts';
import { createSandboxInProcess } from '../world/sandbox-in-process.ts';
import { World } from '../world/world.ts';

const LIVE_KEY = 'sk_live_zyxwvutsrqponmlkjihgfe';
let api: Api;
beforeEach(() => {
  api = new Api();
});

describe('POST /v1/orders', () => {
  test('returns the order and its location, and replays the same bytes', async () => {
    const first = await api.order('k');
    expect(first).toMatchObject({ status: 201, body: { object: 'order', status: 'completed', livemode: false } });
    expect(first.headers['Location']).toBe(`../v1/orders/${String(first.body['id'])}`);
    const again = await api.order('k');
    expect(again.text).toBe(first.text);
    expect(again.headers['Idempotency-Replayed']).toBe('true');
    expect(api.world.mailer.outbox).toHaveLength(1);
  });

  test('raises the alarm for an order in review, even if the response to the commit is lost', async () => {
    const harness = new World();
    const { store } = harness;
    const commits = (commitOrder: OrderTools['orders']['commitOrder']): OrderTools['orders'] => ({
      claimOrder: (claim) => store.claimOrder(claim),
      commitOrder,
      appendToOrder: (append) => store.appendToOrder(append),
      listOrderTransitions: (id, page) => store.listOrderTransitions(id, page),
      openOrders: (due) => store.openOrders(due),
      postponeOrder: (...next) => store.postponeOrder(...next),
      closeOrder: (open) => store.closeOrder(open),
    });
    await harness.processor.inside.failNextChange(9, 'tok_declined');
    const gone = { items: [{ sku: 'sku_none', quantity: 1 }] };
    await new Api({ orders: commits(() => Promise.reject(new Error('killed'))) }, harness).order('k', gone);
    harness.clock.advance(4 * 24 * 60 * 60_000);
    const lossy = commits(async (commit) => {
      await store.commitOrder(commit);
      throw new AmbiguousError('store_ambiguous', 'no response');
    });
    const second = new Api({ orders: lossy }, harness);
    expect((await second.order('k', gone)).status).toBe(503);
    expect(second.reports.at(-1)?.counts).toEqual(['unavailable']);
    expect(second.alarms).toEqual(['order_needs_review']);
  });

  test('shows the shop’s own order number, and passes it to the stock service', async () => {
    const asked: unknown[] = [];
    const { stock } = api.world;
    const reserve: typeof stock.reserve = (order, limit) => {
      asked.push(order.shopOrder);
      return stock.reserve(order, limit);
    };
    const noting = new Api({ stock: { ...stock, reserve } });
    const { body } = await noting.order('k', { shop_order: 118 });
    expect([body['status'], body['shop_order'], asked]).toEqual(['completed', 118, [118]]);
    const shown = await noting.ask('GET', `/v1/orders/${String(body['id'])}`);
    expect(shown.body['shop_order']).toBe(118);
    expect((await noting.order('k2')).body).not.toHaveProperty('shop_order');
    for (const shop_order of [0, 1.5, '118', 2_147_483_648]) {
      const refused = await noting.order('k3', { shop_order });
      expect([refused.status, refused.body['param']]).toEqual([400, 'shop_order']);
    }
  });

  test('returns 422 for a different body under the same key, and keeps the stored response unchanged', async () => {
    const first = await api.order('k');
    expect((await api.order('k', { amount: 1 })).body).toMatchObject({ code: 'idempotency_key_payload_mismatch' });
    expect((await api.order('k')).text).toBe(first.text);
  });

  test('returns 409 with the order id for a key whose response has expired', async () => {
    const first = await api.order('k');
    const orderId = parseOrderId(String(first.body['id']));
    invariant(orderId !== undefined, 'the response has no order id');
    api.store.deleteRecord(orderOperation(orderId));
    const late = await new Api({}, api.world).order('k');
    expect(late).toMatchObject({ status: 409, body: { code: 'idempotency_key_expired', order_id: first.body['id'] } });
  });

  test('returns 409 while another process executes the order, and accepts a retry afterwards', async () => {
    const { stock } = api.world.shop;
    const other = new Api({}, api.world);
    const concurrent: unknown[] = [];
    const slow = {
      ...stock,
      reserve: async (...call: Parameters<typeof stock.reserve>) => {
        concurrent.push(await other.order('k'));
        return stock.reserve(...call);
      },
    };
    expect((await new Api({ stock: slow }, api.world).order('k')).status).toBe(201);
    expect(concurrent).toMatchObject([
      { status: 409, headers: { 'Retry-After': '1' }, body: { code: 'idempotency_key_in_progress' } },
    ]);
  });

  test('waits for another process and replays the response of that process if the request has Prefer: wait', async () => {
    const { stock } = api.world.shop;
    const reached = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<void>();
    const slow = {
      ...stock,
      reserve: async (...call: Parameters<typeof stock.reserve>) => {
        reached.resolve();
        await answered.promise;
        return stock.reserve(...call);
      },
    };
    const first = new Api({ stock: slow }, api.world).order('k');
    await reached.promise;
    const clock = {
      nowMs: () => api.world.clock.nowMs(),
      sleep: async (milliseconds: number) => {
        api.world.clock.advance(milliseconds);
        answered.resolve();
        await first;
      },
    };
    const waited = await new Api({ clock }, api.world).order('k', {}, { headers: { prefer: 'wait=8' } });
    expect(waited).toMatchObject({
      status: 201,
      headers: { 'Preference-Applied': 'wait=8', 'Idempotency-Replayed': 'true' },
    });
    expect(waited.text).toBe((await first).text);
    expect(api.world.mailer.outbox).toHaveLength(1);
  });

  test('returns 402 with the order if its charge is declined, including on every retry', async () => {
    const first = await api.order('k', { source: 'tok_declined' });
    expect(first).toMatchObject({ status: 402, body: { code: 'payment_failed', order: { status: 'canceled' } } });
    expect((await api.order('k', { source: 'tok_declined' })).text).toBe(first.text);
  });

  test.each<[string, Record<string, unknown>, string]>([
    ['an empty list of items', { items: [] }, 'items'],
    ['51 items', { items: Array.from({ length: 51 }, () => ({ sku: 's', quantity: 1 })) }, 'items'],
    ['an item with a zero quantity', { items: [{ sku: 'sku_tea', quantity: 0 }] }, 'items.0.quantity'],
    ['an item with an empty SKU', { items: [{ sku: '', quantity: 1 }] }, 'items.0.sku'],
    ['a malformed e-mail address', { email: 'ada' }, 'email'],
    ['an empty referrer', { referrer: '' }, 'referrer'],
    ['a fraction of a cent', { amount: 0.5 }, 'amount'],
    ['an amount above the currency’s maximum', { amount: 99_999_999_999, currency: 'JPY' }, 'amount'],
    ['an unknown currency', { currency: 'XXX' }, 'currency'],
  ])('returns 400 for %s, names the field, and leaves the key unused', async (_what, body, param) => {
    expect(await api.order('k', body)).toMatchObject({ status: 400, body: { code: 'invalid_request', param } });
    expect((await api.order('k')).status).toBe(201);
  });

  test.each<[string, Record<string, unknown>, string, string]>([
    ['an unknown field', { coupon: 'x' }, 'unknown_field', 'coupon'],
    ['an unknown field of an item', { items: [{ sku: 's', quantity: 1, price: 1 }] }, 'unknown_field', 'items.0.price'],
    ['a card number', { referrer: '4242424242424242' }, 'card_number_not_allowed', 'referrer'],
  ])('returns 400 for %s', async (_what, body, code, param) => {
    expect((await api.order('k', body)).body).toMatchObject({ code, param });
  });

  test('returns 400 without an idempotency key, and 403 with a read-only API key', async () => {
    expect((await api.order('')).body).toMatchObject({ code: 'missing_idempotency_key' });
    api.registerKey(OTHER_KEY, { scopes: [Scopes.paymentsRead] });
    const headers = { Authorization: `Bearer ${OTHER_KEY}` };
    expect((await api.order('k', {}, { headers })).status).toBe(403);
  });

  test('returns 503 while the processor is unavailable, and accepts a later retry with the same key', async () => {
    await api.world.processor.inside.goDown();
    const refused = await api.order('k');
    expect(refused).toMatchObject({ status: 503, headers: { 'Retry-After': '10' } });
    await api.world.processor.inside.recover();
    expect((await api.order('k')).status).toBe(201);
  });

  test('refuses live mode if the sandbox simulates the shop, and charges nothing', async () => {
    const processor = createSandboxInProcess({ clock: api.world.clock, mode: 'live' });
    const asked = as(LIVE_KEY);
    const real = new Api({ processor });
    const simulated = new Api({ processor, ordersOf: 'test' });
    for (const each of [real, simulated]) each.registerKey(LIVE_KEY, { mode: 'live' });
    expect(await simulated.order('k', {}, asked)).toMatchObject({
      status: 403,
      body: { code: 'livemode_not_available' },
    });
    expect(processor.inside.all).toEqual([]);
    expect((await real.order('k', {}, asked)).status).toBe(201);
  });

  test('refuses test mode if the shop is real, and charges nothing', async () => {
    const real = new Api({ ordersOf: 'live' });
    expect(await real.order('k')).toMatchObject({ status: 403, body: { code: 'testmode_not_available' } });
    expect(real.world.processor.inside.all).toEqual([]);
    expect(await new Api({}, real.world).order('k')).toMatchObject({ status: 201 });
  });
});

describe('GET /v1/orders/{id}', () => {
  test('returns the current order', async () => {
    const made = await api.order('k', { source: 'tok_async' });
    expect(made.status).toBe(202);
    const path = `/v1/orders/${String(made.body['id'])}`;
    expect((await api.get(path)).text).toBe(made.text);
    const [charge] = api.world.processor.inside.all;
    await api.world.processor.inside.approve(charge?.chargeId ?? '');
    await api.world.resolveFor(2);
    expect((await api.get(path)).body).toMatchObject({ status: 'completed', notifications: { email: 'sent' } });
  });

  test('does not return another tenant’s order', async () => {
    const path = `/v1/orders/${String((await api.order('k')).body['id'])}`;
    api.registerKey(OTHER_KEY, { tenantId: tenantId('ten_other'), scopes: ALL_SCOPES });
    const theirs = await api.get(path, as(OTHER_KEY));
    const nobodys = await api.get(`/v1/orders/ord_${'a'.repeat(32)}`);
    expect([theirs.status, nobodys.status, (await api.get('/v1/orders/x')).status]).toEqual([404, 404, 404]);
    expect(theirs.body['detail']).toBe(nobodys.body['detail']);
  });
});
