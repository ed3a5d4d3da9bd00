import { expect, test } from '@jest/globals';
import { ownerToken, storedOperationId } from '../../lambdas/kernel/ids.ts';
import { TenantAdministration } from '../../lambdas/tenants/store/tenant-administration.ts';
import { paymentRequest } from '../payments/payment-fixtures.ts';
import { Api, dataOf } from '../world/api.ts';
import { TABLES } from '../world/tables.ts';

const HOUR_MS = 3_600_000;

test('the tenants of the deployment are listed in pages', async () => {
  const api = new Api();
  const administration = new TenantAdministration(api.store.database.client, TABLES, 'ada');
  const ids: string[] = [];
  for (const name of ['a', 'b', 'c', 'd', 'e']) ids.push(await administration.createTenant(name));
  const first = await api.get('/v1/admin/tenants?limit=3');
  const rest = await api.get(`/v1/admin/tenants?limit=3&starting_after=${String(dataOf(first).at(-1)?.['id'])}`);
  expect([...dataOf(first), ...dataOf(rest)].map(({ id }) => id)).toEqual(ids.toSorted());
  expect([first.body['has_more'], rest.body['has_more']]).toEqual([true, false]);
});

test('each queue shows its number of entries and the age of its oldest entry, and lists its payments in pages', async () => {
  const api = new Api();
  const held: string[] = [];
  for (let count = 0; count < 9; count += 1) held.push(await api.paid(`k-${count}`, { capture: 'manual' }));
  api.clock.advance(2 * HOUR_MS);
  const queues = dataOf(await api.get('/v1/admin/queues'));
  expect(queues.map(({ id }) => id)).toEqual([
    'claims',
    'inquiries',
    'returns',
    'orders',
    'holds',
    'orphans',
    'unmatched_callbacks',
  ]);
  expect(queues.find(({ id }) => id === 'holds')).toMatchObject({ waiting: 9, more_waiting: false, oldest_age: 7209 });
  expect(queues.find(({ id }) => id === 'returns')).toMatchObject({ waiting: 0, oldest_age: null });

  const seen: unknown[] = [];
  let after = '';
  for (let page = 0; page < 5; page += 1) {
    const { body } = await api.get(`/v1/admin/queues/holds?limit=4${after}`);
    const entries = dataOf({ body });
    seen.push(...entries.map(({ about }) => about));
    after = `&starting_after=${String(entries.at(-1)?.['id'])}`;
    if (body['has_more'] !== true) break;
  }
  expect([seen.length, new Set(seen)]).toEqual([9, new Set(held)]);
  expect((await api.get(`/v1/admin/queues/returns?${after.slice(1)}`)).body).toMatchObject({ param: 'starting_after' });
  expect((await api.get('/v1/admin/queues/none')).status).toBe(404);
});

test('the queue entry of an authorization or refund that has ended needs no action, and is counted until a job removes it', async () => {
  const api = new Api();
  const held = await api.paid('held', { capture: 'manual' });
  const captured = await api.paid('captured', { capture: 'manual' });
  const canceled = await api.paid('canceled', { capture: 'manual' });
  await api.change(`${captured}/capture`, 'c');
  await api.change(`${canceled}/cancel`, 'c');
  const refund = await api.change(`${captured}/refunds`, 'r', { amount: 100 });
  const operationId = storedOperationId(String(refund.body['id']));
  const claimedAtMs = api.clock.nowMs();
  const inquiries = [{ paymentId: captured, operationId, claimedAtMs, undecidable: true }];
  const record = { operationId: storedOperationId('cb_any'), owner: ownerToken('a'), recordedAtMs: claimedAtMs };
  await api.store.recordEffect({ record, transitions: [], inquiries });
  const shown = async (queue: string) =>
    new Map(
      dataOf(await api.get(`/v1/admin/queues/${queue}`)).map(({ about, reason, needs_operator: needs }) => [
        about,
        [reason, needs],
      ]),
    );
  expect(await shown('holds')).toEqual(
    new Map([
      [held, [null, false]],
      [captured, ['ended', false]],
      [canceled, ['ended', false]],
    ]),
  );
  expect(await shown('inquiries')).toEqual(new Map([[captured, ['ended', false]]]));
  const holds = dataOf(await api.get('/v1/admin/queues')).find(({ id }) => id === 'holds');
  expect(holds?.['waiting']).toBe(3);
  const readEnds = () => Promise.reject(new Error('unavailable'));
  const store = { readEnds } as unknown as typeof api.store;
  const unread = api.with({ store });
  expect(dataOf(await unread.get('/v1/admin/queues/holds')).map(({ reason }) => reason)).toEqual([null, null, null]);
});

test('claims of crashed owners are listed with their payments, in pages, after the lease expires', async () => {
  const api = new Api();
  for (let count = 0; count < 5; count += 1) await api.world.claimThenDie(paymentRequest(`k-${count}`), false);
  const shown = async (query = '') => dataOf(await api.get(`/v1/admin/queues/claims${query}`));
  expect(await shown()).toEqual([]);
  api.clock.advance(30_000);
  const all = await shown();
  expect(all).toHaveLength(5);
  for (const { about, part, age } of all) expect([part, age]).toEqual([about, 30]);
  const summaries = dataOf(await api.get('/v1/admin/queues'));
  expect(summaries[0]).toMatchObject({ id: 'claims', waiting: 5, oldest_age: 30, job: 'resolve' });
  const second = await shown(`?limit=2&starting_after=${String(all[1]?.['id'])}`);
  expect(second.map(({ about }) => about)).toEqual(all.slice(2, 4).map(({ about }) => about));

  const tampered = (place: string) => `?starting_after=que_${Buffer.from(place).toString('base64url')}`;
  expect((await api.get(`/v1/admin/queues/claims${tampered('claims 3 x')}`)).body).toMatchObject({
    param: 'starting_after',
  });
  // No entry follows this position: shard 31 is the last shard, and no claim is due so late.
  expect(await shown(tampered('claims 31 999999999999999 OP#pay_a'))).toEqual([]);
});

test('message queues show their number of messages, and list the messages only if no function receives from the queue', async () => {
  const peeked: string[] = [];
  const api = new Api({
    messages: {
      deployed: { 'Events-Parked': { url: 'parked', isKept: true }, 'Webhooks-Queue': { url: 'tasks', isKept: false } },
      count: async (queue) => (queue === 'Events-Parked' ? 3 : 7),
      redrive: async () => 0,
      dismiss: async () => undefined,
      hold: async () => undefined,
      peek: async (queue, limit) => {
        peeked.push(queue);
        return Array.from({ length: Math.min(limit, 3) }, (_, at) => ({
          id: `message-${at}`,
          about: 'pay_1',
          reason: 'event_too_large',
          scheduledForMs: 1_772_366_400_000,
          needsOperator: true,
        }));
      },
    },
  });
  const counts = dataOf(await api.get('/v1/admin/queues')).map(({ id, waiting }) => [id, waiting]);
  expect(counts.slice(-2)).toEqual([
    ['Events-Parked', 3],
    ['Webhooks-Queue', 7],
  ]);
  const parked = await api.get('/v1/admin/queues/Events-Parked?limit=2');
  expect(dataOf(parked)[0]).toMatchObject({ about: 'pay_1', reason: 'event_too_large', needs_operator: true });
  expect(dataOf(parked)[0]?.['scheduled_for']).toBe(1_772_366_400);
  expect(parked.body['has_more']).toBe(true);
  // Reading the queue would count as a delivery attempt to its function.
  expect((await api.get('/v1/admin/queues/Webhooks-Queue')).status).toBe(400);
  expect((await api.get('/v1/admin/queues/constructor')).status).toBe(404);
  expect((await api.get('/v1/admin/queues/Events-Parked?starting_after=que_a')).body).toMatchObject({
    param: 'starting_after',
  });
  expect(peeked).toEqual(['Events-Parked']);
});
