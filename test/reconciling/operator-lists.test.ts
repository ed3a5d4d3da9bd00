import { expect, test } from '@jest/globals';
import { TenantAdministration } from '../../lambdas/tenants/store/tenant-administration.ts';
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

test('what waits in a queue is counted with the age of the oldest, and listed in pages with its payment', async () => {
  const api = new Api();
  const held: string[] = [];
  for (let count = 0; count < 9; count += 1) held.push(await api.paid(`k-${count}`, { capture: 'manual' }));
  api.clock.advance(2 * HOUR_MS);
  const queues = dataOf(await api.get('/v1/admin/queues'));
  expect(queues.map(({ id }) => id)).toEqual(['inquiries', 'returns', 'orders', 'holds', 'orphans', 'orphans_kept']);
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
