import { describe, expect, test } from '@jest/globals';
import { parsePaymentId } from '../../lambdas/payments/ids.ts';
import { Api, as, dataOf, idsOf, LIVE_KEY, OPERATOR_KEY, OTHER_KEY, type Reply } from '../world/api.ts';

const DAY = { from: '2026-03-01', to: '2026-03-01' };
const ENTRIES = { kind: 'entries', ...DAY };

function linesOf(api: Api, made: Reply): readonly (readonly string[])[] {
  const text = [...api.files.files].find(([name]) => name.endsWith(`${String(made.body['id'])}.csv`))?.[1] ?? '';
  // The rows contain no quotation marks.
  return text
    .split('\r\n')
    .filter((line) => line !== '')
    .map((line) => line.split(','));
}

function rowsOf(api: Api, made: Reply): readonly Readonly<Record<string, string>>[] {
  const [columns = [], ...lines] = linesOf(api, made);
  return lines.map((line) => Object.fromEntries(columns.map((name, index) => [name, line[index] ?? ''])));
}

/**
 * One payment has 10.00 EUR with a fee and a refund, one has 5 JPY, one fails, and one is in dispute and has a fee in
 * dollars.
 */
async function past(): Promise<Api> {
  const api = new Api();
  const first = await api.paid('a', { reference: 'order-1' });
  const [charge] = api.processor.charges(parsePaymentId(first) as never);
  await api.processor.inside.correct(charge?.chargeId ?? '', { fee: 59 });
  await api.world.learn(parsePaymentId(first) as never);
  await api.change(`${first}/refunds`, 'r', { amount: 400 });
  await api.paid('b', { amount: 5, currency: 'JPY', reference: '=HYPERLINK(1)' });
  await api.pay('c', { source: 'tok_declined' });
  const disputed = await api.paid('d');
  const [other] = api.processor.charges(parsePaymentId(disputed) as never);
  await api.processor.inside.dispute(other?.chargeId ?? '', 100);
  await api.processor.inside.correct(other?.chargeId ?? '', { fee: 64, fee_currency: 'USD' });
  await api.world.learn(parsePaymentId(disputed) as never);
  api.clock.advance(60_000);
  return api;
}

describe('an export of entries', () => {
  test('has sums that equal the balances', async () => {
    const api = await past();
    const made = await api.write('/v1/exports', 'e', ENTRIES);
    expect(made.status).toBe(202);
    const sums = new Map<string, number>();
    for (const { account, currency, direction, amount_minor: minor } of rowsOf(api, made)) {
      const name = `${account} ${currency} ${direction}`;
      sums.set(name, (sums.get(name) ?? 0) + Number(minor));
    }
    const balances = dataOf(await api.get(`/v1/balances?at=${String(made.body['until'])}`));
    expect(balances.length).toBeGreaterThan(4);
    for (const { account, currency, debit, credit } of balances)
      expect([
        account,
        sums.get([account, currency, 'debit'].join(' ')) ?? 0,
        sums.get([account, currency, 'credit'].join(' ')) ?? 0,
      ]).toEqual([account, debit, credit]);
    expect(sums.size).toBe(balances.flatMap(({ debit, credit }) => [debit, credit]).filter((sum) => sum !== 0).length);
  });

  test('has sums that equal the changes of the balances over its range of days', async () => {
    const api = await past();
    const day = 24 * 60 * 60 * 1000;
    for (const key of ['second', 'third', 'fourth']) {
      api.clock.advance(day - (api.clock.nowMs() % day));
      await api.paid(key, { amount: 300 });
      await api.change(`${await api.paid(`${key}-later`)}/refunds`, `${key}-r`, { amount: 1 });
    }
    const made = await api.write('/v1/exports', 'e', { kind: 'entries', from: '2026-03-02', to: '2026-03-03' });
    const at = async (seconds: number) =>
      new Map<string, number>(
        dataOf(await api.get(`/v1/balances?at=${seconds}`)).flatMap(({ account, currency, debit, credit }) => [
          [[account, currency, 'debit'].join(' '), Number(debit)] as const,
          [[account, currency, 'credit'].join(' '), Number(credit)] as const,
        ]),
      );
    const [before, after] = [await at(Date.UTC(2026, 2, 2) / 1000), await at(Number(made.body['until']))];
    const sums = new Map([...after].map(([name]) => [name, 0]));
    for (const { account, currency, direction, amount_minor: minor } of rowsOf(api, made)) {
      const name = `${account} ${currency} ${direction}`;
      sums.set(name, (sums.get(name) ?? 0) + Number(minor));
    }
    expect(made.body['until']).toBe(Date.UTC(2026, 2, 4) / 1000);
    expect(sums).toEqual(new Map([...after].map(([name, sum]) => [name, sum - (before.get(name) ?? 0)])));
    expect(sums.get('processor_clearing EUR debit')).toBe(2 * 1300);
  });

  test('shows the processor, charge and reference, and amounts with the decimals of their currency; no cell is a formula', async () => {
    const api = await past();
    const made = await api.write('/v1/exports', 'e', { ...ENTRIES, account: 'processor_clearing' });
    const rows = rowsOf(api, made);
    const [euros] = rows.filter(({ reference }) => reference === 'order-1');
    expect(euros).toMatchObject({ amount: '10.00', amount_minor: '1000', currency: 'EUR', processor: 'sandbox' });
    expect(euros?.['charge_id']).toMatch(/^ch_/);
    const yen = rows.filter(({ currency }) => currency === 'JPY');
    expect(yen).toMatchObject([{ amount: '5', amount_minor: '5', reference: "'=HYPERLINK(1)" }]);
    expect(new Set(rows.map(({ account }) => account))).toEqual(new Set(['processor_clearing']));
  });
});

test.each(['entries', 'events'])(
  'an export of %s names the charge of each row, including stray charges',
  async (kind) => {
    const api = new Api();
    const paymentId = parsePaymentId(await api.paid('a')) as never;
    const [own] = api.processor.charges(paymentId);
    const stray = await api.processor.inside.charge({ paymentId, operationId: 'by-hand', amountMinor: 700 });
    await api.processor.inside.dispute(stray.chargeId, 200);
    await api.world.learn(paymentId);
    api.clock.advance(60_000);
    const rows = rowsOf(api, await api.write('/v1/exports', 'e', { kind, ...DAY }));
    const charges = new Map(rows.map(({ type = '', charge_id: chargeId }) => [type, chargeId]));
    expect(charges.get('payment.completed')).toBe(own?.chargeId);
    expect(charges.get('dispute.opened')).toBe(stray.chargeId);
    if (kind === 'entries') expect(charges.get('payment.late_success')).toBe(stray.chargeId);
  },
);

test.each<[string, Readonly<Record<string, string | number>>, readonly Readonly<Record<string, string>>[]]>([
  [
    'payments',
    {},
    [
      { status: 'succeeded', amount_refunded: '4.00', fee: '0.59', other_fees: '' },
      { amount: '5' },
      { status: 'failed' },
      { fee: '', other_fees: '0.64 USD' },
    ],
  ],
  ['payments', { status: 'failed' }, [{ status: 'failed', amount: '10.00' }]],
  ['payments', { amount_from: 4, amount_to: 999 }, [{ amount: '5', currency: 'JPY' }]],
  ['payments', { currency: 'JPY' }, [{ amount: '5', currency: 'JPY' }]],
  ['refunds', {}, [{ status: 'succeeded', amount: '4.00', amount_minor: '400', reference: 'order-1' }]],
  ['disputes', {}, [{ status: 'open', amount: '1.00', currency: 'EUR' }]],
  ['events', { type: 'payment.failed' }, [{ type: 'payment.failed', amount_minor: '1000' }]],
])('an export of %s with the filters %j contains exactly the matching rows', async (kind, filters, rows) => {
  const api = await past();
  const made = await api.write('/v1/exports', 'e', { kind, ...DAY, ...filters });
  // The order of payments in the same second depends on their ids.
  const byText = (left: object, right: object) => (JSON.stringify(left) < JSON.stringify(right) ? -1 : 1);
  const found = rowsOf(api, made).toSorted(byText);
  expect(found).toHaveLength(rows.length);
  for (const row of rows) expect(found).toContainEqual(expect.objectContaining(row));
});

test('an export of payments shows a fee as a negative number if the processor has paid back more than it deducted', async () => {
  const api = new Api();
  const payment = parsePaymentId(await api.paid('a')) as never;
  const [charge] = api.processor.charges(payment);
  const { chargeId = '' } = charge ?? {};
  await api.processor.inside.dispute(chargeId, 100);
  const { disputes } = await api.processor.inside.read(chargeId);
  await api.processor.inside.correct(chargeId, { fee: 59, disputes: disputes.map((each) => ({ ...each, fee: -150 })) });
  await api.world.learn(payment);
  api.clock.advance(60_000);
  const made = await api.write('/v1/exports', 'e', { kind: 'payments', ...DAY });
  expect(rowsOf(api, made)).toMatchObject([{ fee: '-0.91', fee_minor: '-91' }]);
});

describe('an export request', () => {
  test('gets the stored response if it is retried; a different request with the same key is refused', async () => {
    const api = await past();
    const made = await api.write('/v1/exports', 'e', ENTRIES);
    const again = await api.write('/v1/exports', 'e', ENTRIES);
    expect([again.status, again.text]).toEqual([202, made.text]);
    expect(again.headers['Idempotency-Replayed']).toBe('true');
    expect((await api.write('/v1/exports', 'e', { ...ENTRIES, currency: 'EUR' })).body['code']).toBe(
      'idempotency_key_payload_mismatch',
    );
    expect(api.files.files.size).toBe(1);
  });

  test.each([
    ['to', { to: '2026-02-28' }],
    ['to', { to: '2027-03-02' }],
    ['from', { from: '1969-12-31', to: '1970-01-01' }],
    ['account', { kind: 'payments', account: 'fees' }],
    ['type', { type: 'payment.failed' }],
    ['status', { status: 'succeeded' }],
    ['status', { kind: 'disputes', status: 'needs_review' }],
    ['amount_from', { amount_from: 1 }],
    ['amount_to', { kind: 'payments', amount_from: 2, amount_to: 1 }],
    ['kind', { kind: 'orders' }],
  ])('is refused with an invalid %s: %j', async (param, body) => {
    const refused = await new Api().write('/v1/exports', 'e', { ...ENTRIES, ...body });
    expect([refused.status, refused.body['param']]).toEqual([400, param]);
  });

  test('whose writer could not be started gets a writer when the export is read ten seconds later', async () => {
    let isAway = true;
    const woken: string[] = [];
    const api = new Api({
      startWriter: async ({ id }) => {
        if (isAway) throw new Error('Lambda is unavailable');
        woken.push(id);
      },
    });
    const made = await api.write('/v1/exports', 'e', ENTRIES);
    expect([made.status, made.body['status'], api.faults.length]).toEqual([202, 'pending', 1]);
    const path = `/v1/exports/${String(made.body['id'])}`;
    isAway = false;
    await api.get(path);
    expect(woken).toEqual([]);
    api.clock.advance(10_000);
    await api.get(path);
    expect(woken).toEqual([made.body['id']]);
  });
});

test('an export ends before the second in which it was requested, even if its range includes future days', async () => {
  const api = await past();
  const nowMs = api.clock.nowMs();
  const future = await api.write('/v1/exports', 'e', { kind: 'entries', from: '2026-03-02', to: '2026-04-30' });
  expect(future.body).toMatchObject({ until: Date.UTC(2026, 2, 2) / 1000 });
  expect(linesOf(api, future)).toHaveLength(1);
  api.clock.advance(nowMs - api.clock.nowMs());
  const month = await api.write('/v1/exports', 'm', { kind: 'entries', from: '2026-02-01', to: '2026-03-31' });
  expect(month.body).toMatchObject({ until: Math.floor(nowMs / 1000) });
  const { body: shown } = await api.get(`/v1/exports/${String(month.body['id'])}`);
  expect(shown).toMatchObject({ status: 'completed', rows: linesOf(api, month).length - 1 });
  expect(linesOf(api, month).length).toBeGreaterThan(10);
});

test('a key of the other mode creates a separate export, and sees only exports of its own mode', async () => {
  const api = await past();
  api.registerKey(LIVE_KEY, { mode: 'live' });
  const made = await api.write('/v1/exports', 'e', ENTRIES);
  const live = await api.write('/v1/exports', 'e', ENTRIES, as(LIVE_KEY));
  expect([live.status, linesOf(api, live).length]).toEqual([202, 1]);
  expect(live.body['id']).not.toBe(made.body['id']);
  expect(idsOf(await api.get('/v1/exports', as(LIVE_KEY)))).toEqual([live.body['id']]);
  expect((await api.get(`/v1/exports/${String(made.body['id'])}`, as(LIVE_KEY))).status).toBe(404);
});

test('an export formats amounts with as many decimal places as their currency has: none, two or three', async () => {
  const api = new Api();
  for (const [key, amount, currency] of [
    ['a', 1, 'KWD'],
    ['b', 12_345, 'KWD'],
    ['c', 7, 'JPY'],
    ['d', 5, 'EUR'],
  ] as const)
    await api.paid(key, { amount, currency });
  api.clock.advance(60_000);
  const made = await api.write('/v1/exports', 'e', { kind: 'payments', ...DAY });
  expect(rowsOf(api, made).map((row) => [row['amount'], row['amount_minor'], row['currency']])).toEqual([
    ['0.001', '1', 'KWD'],
    ['12.345', '12345', 'KWD'],
    ['7', '7', 'JPY'],
    ['0.05', '5', 'EUR'],
  ]);
});

test('an export contains no descriptions or metadata, because they can be erased', async () => {
  const api = new Api();
  const id = await api.paid('a', { description: 'for Ada Lovelace', metadata: { receipt_email: 'ada@example.com' } });
  api.clock.advance(60_000);
  for (const kind of ['entries', 'payments', 'events']) {
    const made = await api.write('/v1/exports', kind, { kind, ...DAY });
    expect(JSON.stringify(linesOf(api, made))).toContain(id);
  }
  for (const text of api.files.files.values()) expect(text).not.toMatch(/ada/i);
});

test('a completed export has a link to its file until the file is removed', async () => {
  const api = await past();
  const { body } = await api.write('/v1/exports', 'e', ENTRIES);
  const path = `/v1/exports/${String(body['id'])}`;
  expect((await api.get(path)).body).toMatchObject({
    status: 'completed',
    url: expect.stringContaining(String(body['id'])),
  });
  api.clock.advance(8 * 24 * 60 * 60 * 1000);
  expect((await api.get(path)).body).toMatchObject({ status: 'completed', url: null, url_expires: null });
});

test('an operator can create an export for a tenant; other tenants cannot see it', async () => {
  const api = await past();
  api.registerKey(OTHER_KEY, { tenantId: 'ten_other' as never });
  const headers = { ...as(OPERATOR_KEY).headers, 'Payonce-Tenant': 'ten_desk/test' };
  const made = await api.write('/v1/exports', 'e', ENTRIES, { headers });
  expect(made.body).toMatchObject({ requested_by: 'Ada Example' });
  expect(rowsOf(api, made).length).toBeGreaterThan(5);
  await api.write('/v1/exports', 'e', ENTRIES, { headers });
  const log = dataOf(await api.get('/v1/admin/activity?tenant=ten_desk&mode=test', as(OPERATOR_KEY)));
  expect(log.filter(({ action }) => action === 'export.requested')).toMatchObject([
    { about: [made.body['id']], caused_by: { type: 'operator', operator: 'Ada Example' } },
  ]);
  expect(idsOf(await api.get('/v1/exports'))).toEqual([made.body['id']]);
  expect(idsOf(await api.get('/v1/exports', as(OTHER_KEY)))).toEqual([]);
  expect((await api.get(`/v1/exports/${String(made.body['id'])}`, as(OTHER_KEY))).status).toBe(404);
});
