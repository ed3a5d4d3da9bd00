import { describe, expect, test } from '@jest/globals';
import { receiveCallback } from '../../lambdas/callbacks/receive-callback.ts';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { readChainViews } from '../../lambdas/views/use/chain-views.ts';
import { callback } from '../payments/payment-fixtures.ts';
import { Api, dataOf, idsOf, LIVE_KEY, OTHER_KEY, type Reply } from '../world/api.ts';
import { ProjectedViews } from './projected-views.ts';

const lists = (api: Api, path: string) => async (search: string) => idsOf(await api.get(`${path}?${search}`));

async function walked(api: Api, path: string, cursor: 'starting_after' | 'ending_before', start: string) {
  const ids: string[] = [];
  let next = start;
  for (let pages = 0; pages < 20 && next !== ''; pages += 1) {
    const { body } = await api.get(`${path}?limit=2&${cursor}=${next}`);
    ids.push(...(cursor === 'starting_after' ? idsOf({ body } as Reply) : idsOf({ body } as Reply).toReversed()));
    const { next_cursor: further } = body;
    next = typeof further === 'string' ? further : '';
  }
  return cursor === 'starting_after' ? ids : ids.toReversed();
}

async function isHiddenFromOthers(api: Api, path: string, id: string): Promise<void> {
  api.registerKey(OTHER_KEY, { tenantId: tenantId('ten_other') });
  api.registerKey(LIVE_KEY, { mode: 'live' });
  for (const key of [OTHER_KEY, LIVE_KEY]) {
    const headers = { Authorization: `Bearer ${key}` };
    expect((await api.get(path, { headers })).body).toEqual({ object: 'list', data: [], has_more: false });
    const cursor = await api.get(`${path}?starting_after=${id}`, { headers });
    expect(cursor.body).toMatchObject({ status: 400, code: 'invalid_request', param: 'starting_after' });
  }
}

describe('the list of orders', () => {
  const PATH = '/v1/orders';

  async function ordered() {
    const api = new Api();
    const { clock } = api.world;
    const ids: string[] = [];
    const sources = ['tok_ok', 'tok_ok', 'tok_declined', 'tok_async', 'tok_ok'];
    for (const [index, source] of sources.entries()) {
      const { body } = await api.order(`k-${index}`, { source });
      ids.unshift(((body['order'] ?? body) as { id: string }).id);
      clock.advance(1000);
    }
    return { api, ids, list: lists(api, PATH) };
  }

  test('contains orders newest first, each byte-identical to a read by id', async () => {
    const { api, ids } = await ordered();
    const shown = await Promise.all(ids.map(async (id) => (await api.get(`${PATH}/${id}`)).text));
    expect((await api.get(PATH)).text).toBe(`{"object":"list","data":[${shown.join(',')}],"has_more":false}`);
  });

  test('can be filtered by status and time, and reflects status changes', async () => {
    const { api, ids, list } = await ordered();
    const [last, waiting, declined, second, first] = ids;
    expect(await list('status=completed')).toEqual([last, second, first]);
    expect(await list('status=canceled')).toEqual([declined]);
    expect(await list('status=processing')).toEqual([waiting]);
    const from = Math.floor(Number(dataOf(await api.get(PATH)).at(-1)?.['created']));
    expect(await list(`created_from=${from + 1}&created_to=${from + 3}`)).toEqual([declined, second]);

    const harness = api.world;
    const [charge] = harness.processor.inside.all.filter(({ status }) => status === 'pending');
    invariant(charge !== undefined, 'no charge is pending');
    await harness.processor.inside.approve(charge.chargeId);
    await harness.resolveFor(3);
    expect(await list('status=processing')).toEqual([]);
    expect(await list('status=completed')).toEqual([last, waiting, second, first]);
  });

  test('contains a reopened order with its new status while the processor is down', async () => {
    const api = new Api();
    const harness = api.world;
    const list = lists(api, PATH);
    await api.order('k', { items: [{ sku: 'sku_none', quantity: 1 }] });
    await harness.resolveFor(5);
    const ids = await list('status=canceled');
    const [charge] = harness.processor.inside.all;
    harness.clock.advance(2 * 24 * 60 * 60_000);
    await harness.processor.inside.endRefund(String(charge?.refunds[0]?.refundId), 'failed');
    const tools = { ...harness.tools, effects: harness.store, books: harness.processor, report: () => {} };
    await receiveCallback(tools, callback('evt_failed', String(charge?.chargeId)));
    const down = { ...harness.processor, change: () => Promise.reject(new RetryableError('processor_away', 'no')) };
    await harness.resolveFor(1, { processor: down });

    expect(await list('status=processing')).toEqual(ids);
    expect(await list('status=canceled')).toEqual([]);
    await harness.resolveFor(10);
    expect(await list('status=canceled')).toEqual(ids);
  });

  test('omits no order: while e-mail addresses cannot be hashed, a new order gets 503, and a repeated request gets its stored response', async () => {
    const away = { of: () => Promise.reject(new RetryableError('secrets_unavailable', 'down')) };
    const api = new Api();
    const first = await api.order('k-begun');
    const without = api.with({ emailHashes: away });
    expect((await without.order('k-new')).status).toBe(503);
    const again = await without.order('k-begun');
    expect([again.status, again.body]).toEqual([first.status, first.body]);
  });

  test('is filtered by the complete e-mail address', async () => {
    const { api, ids, list } = await ordered();
    const { body } = await api.order('grace', { email: 'Grace@example.com' });

    expect(await list('email=grace@example.com')).toEqual([body['id']]);
    expect(await list('email=ADA@example.com&limit=100')).toEqual(ids);
    expect(await list(`email=ada@example.com&starting_after=${ids[2]}`)).toEqual(ids.slice(3));
    expect(await list('email=ada@example.com&status=canceled')).toEqual([ids[2]]);
    expect(await list('email=grace@example.com&status=canceled')).toEqual([]);
    expect(await list('email=race@example.com')).toEqual([]);
  });

  test('is paged in both directions by order ids', async () => {
    const { api, ids } = await ordered();
    const [last = '', ...older] = ids;
    expect(await walked(api, PATH, 'starting_after', last)).toEqual(older);
    expect(await walked(api, PATH, 'ending_before', ids.at(-1) ?? '')).toEqual(ids.slice(0, -1));
  });

  test('contains no order of another tenant or mode', async () => {
    const { api, ids } = await ordered();
    await isHiddenFromOthers(api, PATH, ids[0] ?? '');
  });
});

describe('the list of disputes', () => {
  const PATH = '/v1/disputes';

  async function disputed() {
    const api = new Api();
    const ledger = new Api({}, api.world);
    const { inside } = api.processor;
    const payments = [await ledger.paid('k-1'), await ledger.paid('k-2'), await ledger.paid('k-3')];
    const opened: string[] = [];
    for (const [payment, amount] of [
      [0, 400],
      [1, 1000],
      [0, 600],
    ] as const) {
      const id = payments[payment];
      const charge = inside.all[payment];
      invariant(id !== undefined && charge !== undefined, 'the payment has no charge');
      opened.push(await inside.dispute(charge.chargeId, amount));
      await ledger.world.learn(id);
      api.clock.advance(1000);
    }
    const close = async (index: number, status: 'won' | 'lost') => {
      await inside.closeDispute(opened[index] ?? '', status);
      for (const id of payments) await ledger.world.learn(id);
    };
    const ids = idsOf(await api.get(PATH));
    return { api, payments, opened, ids, close, list: lists(api, PATH) };
  }

  test('contains the disputes of all payments newest first, each as in a read by id', async () => {
    const { api, ids, opened, payments } = await disputed();
    const shown = await Promise.all(ids.map(async (id) => (await api.get(`${PATH}/${id}`)).body));
    expect(dataOf(await api.get(PATH))).toEqual(shown);
    expect(ids.map((id) => id.slice('dsp_'.length + 33))).toEqual(opened.toReversed());
    expect(shown.map(({ payment }) => payment)).toEqual([payments[0], payments[1], payments[0]]);
  });

  test('can be filtered by status and time, and reflects status changes', async () => {
    const { api, ids, close, list } = await disputed();
    const [third, second, first] = ids;
    expect(await list('status=open')).toEqual(ids);
    await close(0, 'won');
    await close(1, 'lost');
    expect(await list('status=open')).toEqual([third]);
    expect(await list('status=won')).toEqual([first]);
    expect(await list('status=lost')).toEqual([second]);
    const from = Number((await api.get(`${PATH}/${first}`)).body['created']);
    expect(await list(`created_from=${from + 1}&created_to=${from + 2}`)).toEqual([second]);
  });

  test('is paged in both directions by dispute ids', async () => {
    const { api, ids } = await disputed();
    expect(await walked(api, PATH, 'starting_after', ids[0] ?? '')).toEqual(ids.slice(1));
    expect(await walked(api, PATH, 'ending_before', ids.at(-1) ?? '')).toEqual(ids.slice(0, -1));
  });

  test('contains no dispute of another tenant or mode', async () => {
    const { api, ids } = await disputed();
    await isHiddenFromOthers(api, PATH, ids[0] ?? '');
  });

  test('has only rows that a rebuild can restore from the Ledger', async () => {
    const { api, payments, close } = await disputed();
    await close(0, 'won');
    const views = new ProjectedViews(api.store);
    await views.range({ partition: 'none', from: '', until: '', limit: 1 });
    const [id] = payments;
    const tools = { store: api.store, orders: api.store, digest: systemDigest };
    const said = await readChainViews(tools, id as never);
    const rows = views.all().filter(({ partition, chainId }) => partition.startsWith('DISPUTE#') && chainId === id);
    const heads = said?.events.flatMap(({ heads: all }) => all.slice(1)) ?? [];
    // For the won dispute, the Ledger also yields a row with the status open, but only the newest row is stored.
    expect(heads).toHaveLength(3);
    expect(rows).toHaveLength(2);
    for (const row of rows) expect(heads).toContainEqual(row);
  });
});
