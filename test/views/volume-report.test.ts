import { describe, expect, test } from '@jest/globals';
import { readLedgerEvent } from '../../lambdas/events/use/ledger-events.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { totalsPartition } from '../../lambdas/views/domain/lists.ts';
import { viewsOf } from '../../lambdas/views/domain/views.ts';
import { closeDays } from '../../lambdas/views/use/close-days.ts';
import { writeViews } from '../../lambdas/views/use/project-event.ts';
import { initialRebuildState, rebuildViews } from '../../lambdas/views/use/rebuild-views.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { Api, as, dataOf, LIVE_KEY, OTHER_KEY } from '../world/api.ts';
import { MemoryViews } from './memory-views.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const PATH = '/v1/reports/volume';
const RANGE = 'from=2026-03-01&to=2026-03-03';
const OWNER = { tenantId: tenantId('ten_desk'), mode: 'test' } as const;

async function traded(): Promise<Api> {
  const api = new Api();
  const id = await api.paid('p-1', { amount: 1000 });
  await api.paid('p-2', { amount: 500 });
  await api.paid('p-3', { amount: 700, currency: 'JPY' });
  await api.paid('p-4', { amount: 900, source: 'tok_declined' });
  await api.order('o-1');
  await api.order('o-2', { source: 'tok_declined' });
  api.clock.advance(DAY_MS);
  await api.change(`${id}/refunds`, 'r', { amount: 400 });
  return api;
}

const shown = async (api: Api, query = RANGE) =>
  dataOf(await api.get(`${PATH}?${query}`)).map(({ date, currency, outcome, count, amount }) =>
    [date, currency, outcome, count, amount].join(' '),
  );

const VOLUMES = [
  '2026-03-01 EUR payment.completed 3 3500',
  '2026-03-01 EUR payment.failed 2 2900',
  '2026-03-01 EUR order.placed 2 4000',
  '2026-03-01 EUR order.completed 1 2000',
  '2026-03-01 EUR order.canceled 1 2000',
  '2026-03-01 JPY payment.completed 1 700',
  '2026-03-02 EUR refund.completed 1 400',
];

describe('the volume report', () => {
  test('counts the events of each day by currency and outcome, and sums their amounts', async () => {
    const api = await traded();
    expect(await shown(api)).toEqual(VOLUMES);
    expect(await shown(api, `${RANGE}&currency=JPY`)).toEqual([VOLUMES[5]]);
    expect(await shown(api, 'from=2026-03-02&to=2026-03-02')).toEqual([VOLUMES[6]]);
    expect((await api.get(`${PATH}?from=2026-03-02&to=2026-03-02`)).body).toEqual({
      object: 'list',
      data: [
        { object: 'volume', date: '2026-03-02', currency: 'EUR', outcome: 'refund.completed', count: 1, amount: 400 },
      ],
      has_more: false,
    });
  });

  test('includes no event of another tenant or mode', async () => {
    const api = await traded();
    api.registerKey(OTHER_KEY, { tenantId: tenantId('ten_other') });
    api.registerKey(LIVE_KEY, { mode: 'live' });
    for (const key of [OTHER_KEY, LIVE_KEY]) {
      expect((await api.get(`${PATH}?${RANGE}`, as(key))).body).toEqual({ object: 'list', data: [], has_more: false });
    }
  });

  test('does not change when every event is redelivered in reverse order, or when its days are closed', async () => {
    const api = await traded();
    const { store, clock } = api.world;
    const tools = { transitions: store.ledger, digest: systemDigest };
    const views = new MemoryViews(store.database);
    const close = () => closeDays({ views, clock, entropy: countingEntropy() }, OWNER, 10);
    expect(await shown(api)).toEqual(VOLUMES);
    clock.advance(2 * DAY_MS);
    expect(await close()).toEqual({ closed: 3, more: false });
    expect(await shown(api)).toEqual(VOLUMES);

    for (const place of [...store.outcomes(), ...store.outcomes()].toReversed()) {
      const event = await readLedgerEvent(tools, place);
      if (event !== undefined) await writeViews({ views }, viewsOf(event));
    }
    expect(await shown(api)).toEqual(VOLUMES);
    await close();
    expect(await shown(api)).toEqual(VOLUMES);
  });

  test('does not change when the Views are lost and rebuilt from the Ledger', async () => {
    const api = await traded();
    expect(await shown(api)).toEqual(VOLUMES);
    const { store, clock } = api.world;
    const views = new MemoryViews(store.database);
    for (const row of views.all()) await views.exchange([{ key: row }]);
    expect(await shown(api)).toEqual([]);

    clock.advance(2 * DAY_MS);
    const tools = { views, ledger: store.ledgerScan, store, orders: store, digest: systemDigest, clock };
    const rebuilt = await rebuildViews(
      { ...tools, entropy: countingEntropy() },
      initialRebuildState(1),
      async () => undefined,
    );
    expect(rebuilt.differences).toEqual([]);
    expect(await shown(api)).toEqual(VOLUMES);
  });

  test('is checked by the comparison with the Ledger, which reports a wrong daily total', async () => {
    const api = await traded();
    await shown(api);
    const { store, clock } = api.world;
    const views = new MemoryViews(store.database);
    clock.advance(2 * DAY_MS);
    await closeDays({ views, clock, entropy: countingEntropy() }, OWNER, 10);
    const [total] = await views.range({ partition: totalsPartition(OWNER), from: '0', until: ':', limit: 1 });
    if (total === undefined) throw new Error('no day is closed');
    await views.put([{ ...total, body: total.body.replace('"count":3', '"count":4') }]);
    expect(await shown(api)).toContain('2026-03-01 EUR payment.completed 4 3500');

    const tools = { views, ledger: store.ledgerScan, store, orders: store, digest: systemDigest, clock };
    const begin = initialRebuildState(1, 'compare_ledger');
    const { differences } = await rebuildViews({ ...tools, entropy: countingEntropy() }, begin, async () => undefined);
    expect(differences).toMatchObject([{ kind: 'total' }]);
  });

  test.each([
    ['', 'from'],
    ['from=2026-03-01', 'to'],
    ['from=2026-02-30&to=2026-03-01', 'from'],
    ['from=2026-03-01&to=tomorrow', 'to'],
    ['from=2026-03-02&to=2026-03-01', 'to'],
    ['from=2026-01-01&to=2026-04-03', 'to'],
    [`${RANGE}&currency=eur`, 'currency'],
  ])('refuses the query "%s", and the error names the parameter %s', async (query, param) => {
    const { body } = await new Api().get(`${PATH}?${query}`);
    expect(body).toMatchObject({ status: 400, code: 'invalid_request', param });
  });

  test('accepts a range of 92 days', async () => {
    expect(await shown(await traded(), 'from=2026-01-01&to=2026-04-02')).toEqual(VOLUMES);
  });
});

test.each([
  ['from', '/v1/reports/volume?from=1969-12-31&to=1970-01-01'],
  ['day', '/v1/ledger/entries?day=1969-12-31'],
  ['from', '/v1/ledger/entries?from=0202-03-01'],
  ['to', '/v1/ledger/entries?to=1969-12-30'],
])('a day before 1970 in %s is refused: %s', async (param, path) => {
  const api = new Api();
  const { status, body } = await api.get(path);
  expect([status, body['param'], api.faults]).toEqual([400, param, []]);
});

test('the first day of 1970 is accepted', async () => {
  expect(await shown(new Api(), 'from=1970-01-01&to=1970-01-01')).toEqual([]);
});
