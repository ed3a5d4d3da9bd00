import { beforeEach, describe, expect, test } from '@jest/globals';
import { ViewsRow } from '../../lambdas/kernel/contract/rows.ts';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import type { ProcessorBooks } from '../../lambdas/payments/use/processor.ts';
import type { TransitionReader } from '../../lambdas/payments/use/transition-reader.ts';
import { emailTools } from '../views/email-tools.ts';
import { ProjectedViews } from '../views/projected-views.ts';
import { Api, dataOf, OTHER_KEY } from '../world/api.ts';

const VIEWER = { headers: { Authorization: 'Bearer ok_viewerviewerviewerviewer' } };
const DESK_TENANT = { tenant: 'ten_desk', mode: 'test' };

let api: Api;
beforeEach(() => {
  api = new Api();
  api.registerOperator('ok_viewerviewerviewerviewer', { role: 'viewer', operator: 'Vera' });
});

const search = (asked: Readonly<Record<string, string>>, as = {}) =>
  api.get(`/v1/admin/payments?${new URLSearchParams({ ...DESK_TENANT, ...asked }).toString()}`, as);
const idsOf = async (asked: Readonly<Record<string, string>>) => dataOf(await search(asked)).map(({ id }) => id);
function today(): Readonly<Record<string, string>> {
  const seconds = Math.floor(api.clock.nowMs() / 1000);
  return { created_from: String(seconds - 3600), created_to: String(seconds + 1) };
}

describe('the payment search', () => {
  test('matches a currency and a range of amounts within a time range', async () => {
    const small = await api.paid('a', { amount: 500 });
    const large = await api.paid('b', { amount: 2_000 });
    const yen = await api.paid('c', { amount: 2_000, currency: 'JPY' });
    expect(await idsOf(today())).toEqual([yen, large, small]);
    expect(await idsOf({ ...today(), currency: 'EUR' })).toEqual([large, small]);
    expect(await idsOf({ ...today(), amount_from: '501' })).toEqual([yen, large]);
    expect(await idsOf({ ...today(), amount_from: '500', amount_to: '1999' })).toEqual([small]);
    expect(await idsOf({ ...today(), currency: 'EUR', amount_from: '2000', amount_to: '2000' })).toEqual([large]);
  });

  test('matches a status, a reference or an e-mail address within one tenant and mode', async () => {
    const metadata = { receipt_email: 'ada@example.com' };
    const paid = await api.paid('a', { reference: 'order-7', metadata });
    const declined = await api.pay('b', { source: 'tok_declined' });
    expect(await idsOf({ status: 'failed' })).toEqual([
      (declined.body['payment'] as { id?: string })?.id ?? declined.body['id'],
    ]);
    expect(await idsOf({ reference: 'order-7' })).toEqual([paid]);
    expect(await idsOf({ email: 'ADA@example.com' })).toEqual([paid]);
    expect(await idsOf({ email: 'ADA@example.com', tenant: 'ten_other' })).toEqual([]);
    expect(await idsOf({ reference: 'order-7', mode: 'live' })).toEqual([]);
  });

  test('returns its results in pages', async () => {
    for (const key of ['a', 'b', 'c']) await api.paid(key);
    const first = await search({ ...today(), currency: 'EUR', limit: '2' });
    const rest = await idsOf({
      ...today(),
      currency: 'EUR',
      limit: '2',
      starting_after: String(first.body['next_cursor']),
    });
    expect([dataOf(first).length, first.body['has_more'], rest.length]).toEqual([2, true, 1]);
  });

  test('does not read payments in another currency', async () => {
    for (let count = 0; count < 30; count += 1) await api.paid(`k-${count}`);
    const { found, reads } = await countedSearch({ ...today(), currency: 'JPY' });
    expect([dataOf(found), found.body['has_more'], reads]).toEqual([[], false, 0]);
  });

  test('finds payments by currency even if an earlier version stored their rows without a currency, and reads few payments per page', async () => {
    const yen = [await api.paid('a', { currency: 'JPY' }), await api.paid('b', { currency: 'JPY' })];
    for (let count = 0; count < 30; count += 1) await api.paid(`k-${count}`);
    await withoutCurrencies();
    const found: unknown[] = [];
    let after: Readonly<Record<string, string>> = {};
    for (let page = 0; page < 10; page += 1) {
      const { found: shown, reads } = await countedSearch({ ...today(), currency: 'JPY', ...after });
      // A page of ten payments loads at most three more. Each load reads a payment's newest and first transitions.
      expect(reads).toBeLessThanOrEqual(26);
      found.push(...dataOf(shown).map(({ id }) => id));
      if (shown.body['has_more'] !== true) break;
      after = { starting_after: String(shown.body['next_cursor']) };
    }
    expect(found).toEqual(yen.toReversed());
  });
});

async function countedSearch(asked: Readonly<Record<string, string>>) {
  let reads = 0;
  const transitions: TransitionReader = {
    readTransition: (place) => {
      reads += 1;
      return api.store.ledger.readTransition(place);
    },
  };
  const views = new ProjectedViews(api.store);
  const counted = api.with({ search: { views, store: api.store, transitions, ...emailTools(api.store) } });
  const query = new URLSearchParams({ ...DESK_TENANT, ...asked }).toString();
  const found = await counted.get(`/v1/admin/payments?${query}`);
  return { found, reads };
}

/** An earlier version did not write these fields. */
async function withoutCurrencies(): Promise<void> {
  await search(today());
  const rows = api.views.all().filter(({ partition }) => partition.startsWith(ViewsRow.payment));
  expect(rows).not.toEqual([]);
  await api.views.put(
    rows.map((row) => {
      const { currency: _currency, reference: _reference, ...body } = JSON.parse(row.body) as Record<string, unknown>;
      return { ...row, body: JSON.stringify(body) };
    }),
  );
}

describe('a search for', () => {
  const found = async (q: string, asked: Readonly<Record<string, string>> = DESK_TENANT, as = {}) =>
    dataOf(await api.get(`/v1/admin/payments?${new URLSearchParams({ ...asked, q }).toString()}`, as)).map(
      ({ id }) => id,
    );

  test('an id finds its payment, even without a tenant', async () => {
    const id = await api.paid('a', { capture: 'manual' });
    const order = await api.order('o');
    const [charge] = api.processor.charges(id);
    const capture = await api.change(`${id}/capture`, 'c', { amount: 500 });
    expect(capture.status).toBe(200);
    const refund = await api.change(`${id}/refunds`, 'r', { amount: 100 });
    const captures = dataOf(await api.get(`/v1/payments/${id}/captures`));
    const ids = [id, refund.body['id'], captures[0]?.['id'], charge?.chargeId].map(String);
    for (const asked of [DESK_TENANT, {}]) for (const q of ids) expect([q, await found(q, asked)]).toEqual([q, [id]]);
    expect(await found(String(order.body['id']), {})).toEqual([order.body['payment']]);
    expect(await found(id, { tenant: 'ten_other' })).toEqual([]);
    expect(await found(id, { ...DESK_TENANT, mode: 'live' })).toEqual([]);
    expect(await found(`pay_${'a'.repeat(32)}`, {})).toEqual([]);
    expect(dataOf(await api.get(`/v1/admin/payments?q=${id}`))).toMatchObject([{ tenant: 'ten_desk' }]);
  });

  test('an unknown charge returns 503 instead of an empty list while a processor does not respond', async () => {
    const id = await api.paid('a');
    const [charge] = api.processor.charges(id);
    const answers = api.processor;
    const readCharge = () => Promise.reject(new RetryableError('processor_unreachable', 'no'));
    const away: ProcessorBooks = { ...answers, name: 'away', mode: 'test', readCharge };
    const q = String(charge?.chargeId);
    const asked = async (text: string) => api.with({ books: [away, answers] }).get(`/v1/admin/payments?q=${text}`);
    expect(dataOf(await asked(q)).map((each) => each['id'])).toEqual([id]);
    expect((await asked('ch_unknown')).status).toBe(503);
  });

  test('an idempotency key, a reference, a part of a reference or an e-mail address finds the payments of a tenant', async () => {
    const email = 'ada@example.com';
    const first = await api.paid('key-1', { reference: 'Order-4711', metadata: { receipt_email: email } });
    const second = await api.paid('key-2', { reference: 'order-4712' });
    await api.paid('key-3');
    const order = await api.order('key-4');
    expect(await found('key-1')).toEqual([first]);
    expect(await found('key-4')).toEqual([order.body['payment']]);
    expect(await found('Order-4711')).toEqual([first]);
    expect(await found('order-47')).toEqual([second, first]);
    expect(await found('4711')).toEqual([first]);
    expect(await found(email)).toEqual([first]);
    expect(await found('4711', { tenant: 'ten_other', mode: 'test' })).toEqual([]);
    expect(await found('nothing')).toEqual([]);
    const page = await api.get('/v1/admin/payments?tenant=ten_desk&mode=test&limit=1&q=order-47');
    expect([dataOf(page).length, page.body['has_more']]).toEqual([1, true]);
    const rest = { ...DESK_TENANT, starting_after: String(page.body['next_cursor']) };
    expect(await found('order-47', rest)).toEqual([first]);
  });

  test('a reference or an idempotency key with an @ finds its payment', async () => {
    const id = await api.paid('key@1', { reference: 'ada@shop-42' });
    for (const q of ['key@1', 'ada@shop-42', '@shop']) expect([q, await found(q)]).toEqual([q, [id]]);
    expect(await found('no-one@example.com')).toEqual([]);
  });

  test('the e-mail address of orders finds their payments, in pages', async () => {
    const email = 'tea@example.com';
    const orders = [];
    for (const key of ['o1', 'o2', 'o3']) {
      orders.unshift(await api.order(key, { email }));
      api.clock.advance(1_000);
    }
    await api.order('of another person', { email: 'other@example.com' });
    const payments = orders.map(({ body }) => body['payment']);
    expect(await found('TEA@example.com')).toEqual(payments);
    expect(await found(email, { ...DESK_TENANT, mode: 'live' })).toEqual([]);
    const first = await search({ q: email, limit: '2' });
    expect([dataOf(first).map(({ id }) => id), first.body['has_more']]).toEqual([payments.slice(0, 2), true]);
    const next = String(first.body['next_cursor']);
    expect(await found(email, { ...DESK_TENANT, limit: '2', starting_after: next })).toEqual(payments.slice(2));
    expect(await found(email, { ...DESK_TENANT, ending_before: String(payments[2]) })).toEqual(payments.slice(0, 2));
  });

  test('a part of a reference finds payments whose rows an earlier version stored without a reference', async () => {
    const id = await api.paid('a', { reference: 'order-4711' });
    await withoutCurrencies();
    expect(await found('4711')).toEqual([id]);
  });
});

test('the payments in review of all tenants and modes are listed without a tenant, newest first', async () => {
  api.registerKey(OTHER_KEY, { tenantId: tenantId('ten_other') });
  const ids: string[] = [];
  for (const headers of [{}, { Authorization: `Bearer ${OTHER_KEY}` }]) {
    const id = await api.paid('k', { source: 'tok_async' }, { headers });
    const [charge] = api.processor.charges(id);
    await api.processor.inside.correct(String(charge?.chargeId), { status: 'succeeded', amount_captured: 600 });
    await api.world.learn(id);
    ids.unshift(id);
  }
  await api.paid('other');
  const list = async (asked = '') => dataOf(await api.get(`/v1/admin/payments?status=needs_review${asked}`));
  expect((await list()).map(({ id, tenant, status }) => [id, tenant, status])).toEqual([
    [ids[0], 'ten_other', 'needs_review'],
    [ids[1], 'ten_desk', 'needs_review'],
  ]);
  const first = await api.get('/v1/admin/payments?status=needs_review&limit=1');
  expect([dataOf(first).length, first.body['has_more']]).toEqual([1, true]);
  expect((await list(`&starting_after=${ids[0]}`)).map(({ id }) => id)).toEqual([ids[1]]);
  expect(await list('&mode=live')).toEqual([]);
  expect((await list('&tenant=ten_other&mode=test')).map(({ id }) => id)).toEqual([ids[0]]);
});

describe('a viewer', () => {
  test('cannot see descriptions or metadata, or search by e-mail address', async () => {
    await api.paid('a', { description: 'For Ada', metadata: { receipt_email: 'ada@example.com' } });
    const seen = await search({}, VIEWER);
    expect(dataOf(seen)).toMatchObject([{ description: null, metadata: {} }]);
    expect(seen.text).not.toMatch(/Ada|ada@/);
    expect((await search({})).text).toContain('For Ada');
    const asked = await search({ email: 'ada@example.com' }, VIEWER);
    expect([asked.status, asked.body['code']]).toEqual([403, 'insufficient_role']);
    expect((await search({ q: 'ada@example.com' }, VIEWER)).status).toBe(403);
  });
});

test.each([
  ['tenant', { tenant: 'desk' }],
  ['mode', { mode: 'both' }],
  ['status', { status: 'paid' }],
  ['currency', { currency: 'EUR' }],
  ['currency', { currency: 'eur', created_from: '1', created_to: '2' }],
  ['amount_from', { amount_from: '5' }],
  ['amount_from', { amount_from: '5', created_from: '1', created_to: '2678402' }],
  ['amount_to', { amount_from: '5', amount_to: '4', created_from: '1', created_to: '2' }],
  ['created_to', { created_from: '2', created_to: '1' }],
  ['email', { email: 'ada' }],
  ['status', { status: 'failed', q: 'order-1' }],
  ['reference', { reference: 'order-1', q: 'order-1' }],
  ['starting_after', { starting_after: `pay_${'a'.repeat(32)}` }],
])('a refused search names the parameter %s', async (param, asked) => {
  const reply = await search(asked);
  expect([reply.status, reply.body['param']]).toEqual([400, param]);
});

test.each(['', '?status=failed', '?status=needs_review&reference=a', '?q=order'])(
  'a search requires a tenant: %s',
  async (asked) => {
    const reply = await api.get(`/v1/admin/payments${asked}`);
    expect([reply.status, reply.body['param']]).toEqual([400, 'tenant']);
  },
);
