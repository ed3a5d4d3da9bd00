import { beforeEach, describe, expect, test } from '@jest/globals';
import { PUBLIC_EVENT_TYPES } from '../../lambdas/events/domain/event.ts';
import { Scopes } from '../../lambdas/kernel/contract/api.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { Api, as, dataOf, idsOf, LIVE_KEY, OTHER_KEY, type Reply } from '../world/api.ts';

const PATH = '/v1/events';
const CREATED = Date.UTC(2026, 2, 1, 12) / 1000;

let payments: Api;
let harness: Api;

beforeEach(() => {
  payments = new Api();
  harness = new Api({}, payments.world);
});

const typesOf = (reply: Reply) => dataOf(reply).map(({ type }) => String(type));

describe('the list of events', () => {
  test('is sorted newest first; each event is byte-identical to the same event read by id', async () => {
    const id = await payments.paid('k-1', { capture: 'manual', metadata: { b: '2', a: '1' } });
    await payments.change(`${id}/capture`, 'c', {});
    payments.clock.advance(1000);
    await payments.change(`${id}/refunds`, 'r', { amount: 400 });

    const list = await harness.get(PATH);
    const shown = await Promise.all(idsOf(list).map(async (event) => (await harness.get(`${PATH}/${event}`)).text));

    expect(typesOf(list)).toEqual(['refund.completed', 'payment.completed', 'payment.authorized']);
    expect(list.text).toBe(`{"object":"list","data":[${shown.join(',')}],"has_more":false}`);
    expect(dataOf(list)[1]).toMatchObject({
      object: 'event',
      created: CREATED + 1,
      livemode: false,
      data: { object: { id, object: 'payment', status: 'succeeded', amount_captured: 1000 } },
    });
    expect(dataOf(list)[0]).toMatchObject({ data: { object: { object: 'refund', payment: id, amount: 400 } } });
  });

  test('omits internal events, which cannot be read by id either', async () => {
    const ledger = new Api({}, payments.world);
    const id = await payments.paid('k-1');
    await ledger.correct('c', { payment: id, reverses: 2 });
    const corrected = payments.store.allTransitions().find(({ type }) => type === 'ledger.corrected');
    const [completed = ''] = idsOf(await harness.get(PATH));

    expect(corrected?.sequence).toBe(3);
    expect(typesOf(await harness.get(PATH))).toEqual(['payment.completed']);
    for (const sequence of ['000001', '000003', '000004', '000000']) {
      const other = completed.replace('000002', sequence);
      expect((await harness.get(`${PATH}/${other}`)).body).toMatchObject({ status: 404, code: 'not_found' });
    }
  });

  test('can be filtered by type and time, and is paged in both directions', async () => {
    for (const key of ['k-1', 'k-2', 'k-3']) await payments.paid(key);
    await payments.paid('k-4', { source: 'tok_declined' });
    const all = idsOf(await harness.get(PATH));
    const asked = async (search: string) => idsOf(await harness.get(`${PATH}?${search}`));

    expect(typesOf(await harness.get(`${PATH}?type=payment.failed`))).toEqual(['payment.failed']);
    expect(await asked('type=dispute.opened')).toEqual([]);
    expect(await asked(`created_from=${CREATED + 1}&created_to=${CREATED + 3}`)).toEqual(all.slice(1, 3));
    expect(await asked(`starting_after=${all[1]}&limit=1`)).toEqual(all.slice(2, 3));
    expect(await asked(`ending_before=${all[3]}&limit=2`)).toEqual(all.slice(1, 3));
    expect((await harness.get(`${PATH}?limit=3`)).body['has_more']).toBe(true);
    expect((await harness.get(`${PATH}?limit=4`)).body['has_more']).toBe(false);
  });

  test.each([
    ['type=payment.created', 'type'],
    ['type=payment.fee_reported', 'type'],
    ['limit=0', 'limit'],
    ['starting_after=evt_1', 'starting_after'],
    ['order=asc', 'order'],
  ])('is refused for %s, and the error names the parameter', async (search, param) => {
    expect((await harness.get(`${PATH}?${search}`)).body).toMatchObject({ status: 400, param });
  });

  test('accepts every public event type', async () => {
    for (const type of PUBLIC_EVENT_TYPES) expect((await harness.get(`${PATH}?type=${type}`)).status).toBe(200);
  });
});

describe('events', () => {
  test.each([
    ['another tenant', OTHER_KEY, { tenantId: tenantId('ten_other') }],
    ['the same tenant in live mode', LIVE_KEY, { mode: 'live' as const }],
  ])(
    'cannot be seen by %s by id, list or cursor, and the response does not show whether they exist',
    async (_who, key, record) => {
      harness.registerKey(key, record);
      await payments.paid('k-1');
      const [theirs = ''] = idsOf(await harness.get(PATH));
      const unknown = `evt_${'a'.repeat(32)}000002${'a'.repeat(10)}`;
      const read = async (path: string) => {
        const { request_id: _, ...body } = (await harness.get(path, as(key))).body;
        return body;
      };

      expect(await read(PATH)).toEqual({ object: 'list', data: [], has_more: false });
      expect(await read(`${PATH}/${theirs}`)).toMatchObject({ status: 404, code: 'not_found' });
      expect(await read(`${PATH}/${theirs}`)).toEqual(await read(`${PATH}/${unknown}`));
      expect(await read(`${PATH}/${theirs}`)).toEqual(await read(`${PATH}/none`));
      expect(await read(`${PATH}?starting_after=${theirs}`)).toEqual(await read(`${PATH}?starting_after=${unknown}`));
    },
  );

  test('require a key with the scope to read payments', async () => {
    harness.registerKey(OTHER_KEY, { scopes: [Scopes.paymentsWrite] });

    for (const path of [PATH, `${PATH}/x`]) {
      expect((await harness.get(path, as(OTHER_KEY))).body).toMatchObject({ code: 'insufficient_scope' });
      expect((await harness.get(path, as('nonsense'))).status).toBe(401);
    }
  });
});
