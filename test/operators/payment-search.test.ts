import { beforeEach, describe, expect, test } from '@jest/globals';
import { ViewsRow } from '../../lambdas/kernel/contract/rows.ts';
import type { TransitionReader } from '../../lambdas/payments/use/transition-reader.ts';
import { emailTools } from '../views/email-tools.ts';
import { ProjectedViews } from '../views/projected-views.ts';
import { Api, dataOf } from '../world/api.ts';

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

  test('finds payments by currency even if older code stored their rows without a currency, and reads few payments per page', async () => {
    const yen = [await api.paid('a', { currency: 'JPY' }), await api.paid('b', { currency: 'JPY' })];
    for (let count = 0; count < 30; count += 1) await api.paid(`k-${count}`);
    await withoutCurrencies();
    const found: unknown[] = [];
    let after: Readonly<Record<string, string>> = {};
    for (let page = 0; page < 10; page += 1) {
      const { found: shown, reads } = await countedSearch({ ...today(), currency: 'JPY', ...after });
      // Thirteen payments (ten, and three more) are read, each with its first transition.
      expect(reads).toBeLessThanOrEqual(26);
      found.push(...dataOf(shown).map(({ id }) => id));
      if (shown.body['has_more'] !== true) break;
      after = { starting_after: String(shown.body['next_cursor']) };
    }
    expect(found).toEqual(yen.toReversed());
  });
});

/** Searches for payments, and counts the transitions that the search reads. */
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

/** Removes the currency from the rows of the payment list, because older code did not write the currency. */
async function withoutCurrencies(): Promise<void> {
  await search(today());
  const rows = api.views.all().filter(({ partition }) => partition.startsWith(ViewsRow.payment));
  expect(rows).not.toEqual([]);
  await api.views.put(
    rows.map((row) => {
      const { currency: _, ...body } = JSON.parse(row.body) as Record<string, unknown>;
      return { ...row, body: JSON.stringify(body) };
    }),
  );
}

describe('a viewer', () => {
  test('sees no text of the merchant, and cannot search for a person', async () => {
    await api.paid('a', { description: 'For Ada', metadata: { receipt_email: 'ada@example.com' } });
    const seen = await search({}, VIEWER);
    expect(dataOf(seen)).toMatchObject([{ description: null, metadata: {} }]);
    expect(seen.text).not.toMatch(/Ada|ada@/);
    expect((await search({})).text).toContain('For Ada');
    const asked = await search({ email: 'ada@example.com' }, VIEWER);
    expect([asked.status, asked.body['code']]).toEqual([403, 'insufficient_role']);
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
  ['starting_after', { starting_after: `pay_${'a'.repeat(32)}` }],
])('a refusal names the parameter %s', async (param, asked) => {
  const reply = await search(asked);
  expect([reply.status, reply.body['param']]).toEqual([400, param]);
});
