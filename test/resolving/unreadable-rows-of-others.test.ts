import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { expect, test } from '@jest/globals';
import { DynamoDbExports } from '../../lambdas/exports/store/dynamodb-exports.ts';
import { KeyAttribute, RegistryTable } from '../../lambdas/kernel/contract/tables.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { DynamoDbOwners } from '../../lambdas/tenants/store/tenant-owners.ts';
import { newDelivery } from '../../lambdas/webhooks/domain/webhook-delivery.ts';
import { DynamoDbWebhooks } from '../../lambdas/webhooks/store/dynamodb-webhooks.ts';
import { deliveryRow, duePartition, laneKey } from '../../lambdas/webhooks/store/webhook-items.ts';
import { webhookMessage } from '../../lambdas/webhooks/use/fan-out-webhooks.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { endpointNamed, eventNamed, OWNER } from '../webhooks/webhook-fixtures.ts';
import { MemoryDynamoDb } from '../world/memory-dynamodb.ts';
import { TABLE_SHAPES, TABLES } from '../world/tables.ts';

const { partition, sort } = KeyAttribute;
const UNREADABLE = { code: 'row_unreadable' };

/** The tables also accept rows that this code cannot parse. */
async function holding(...rows: readonly Record<string, unknown>[]) {
  const clock = new SimulatedClock();
  const prefixes = rows.map((row) => String(row[partition]).replace(/#.*/, '#'));
  const readers = Object.fromEntries(prefixes.map((prefix) => [prefix, () => undefined]));
  const tables = TABLE_SHAPES.map((table) => ({ ...table, readers }));
  const { client } = new MemoryDynamoDb({ tables, nowMs: () => clock.nowMs() });
  for (const Item of rows) await client.send(new PutCommand({ TableName: TABLES.registry, Item }));
  const reported: unknown[] = [];
  return { clock, client, pacing: { clock, entropy: countingEntropy() }, reported };
}

const inMode = (prefix: string, tenantId: string, mode: string, more = {}) => ({
  [partition]: prefix,
  [sort]: `${tenantId}#${mode}`,
  tenantId,
  mode,
  ...more,
});

test.each(['test', 'of_a_future_version'])(
  'the list of tenants contains the other tenants if one tenant has the mode %s',
  async (mode) => {
    const owners = ['ten_b', 'ten_c'].map((tenant) => inMode('OWNERS', tenant, 'test'));
    const { client, pacing, reported } = await holding(inMode('OWNERS', 'ten_a', mode), ...owners);
    const store = new DynamoDbOwners(client, TABLES.registry, pacing, (error) => reported.push(error));
    const all: string[] = [];
    for (let after: string | undefined, isMore = true; isMore; ) {
      const page = await store.list(after, 1);
      all.push(...page.map(({ owner }) => owner.tenantId));
      after = page.at(-1)?.name;
      isMore = page.length === 1;
    }
    expect(all).toEqual(mode === 'test' ? ['ten_a', 'ten_b', 'ten_c'] : ['ten_b', 'ten_c']);
    expect(reported).toMatchObject(mode === 'test' ? [] : [UNREADABLE]);
  },
);

test.each(['test', 'of_a_future_version'])(
  'the list of open exports contains those of other tenants if one tenant has the mode %s',
  async (mode) => {
    const open = (tenant: string, of: string, id: string) => inMode('EXPORTS_OPEN', tenant, of, { ids: [id] });
    const { client, pacing, reported } = await holding(open('ten_a', mode, 'exp_a'), open('ten_b', 'test', 'exp_b'));
    const store = new DynamoDbExports(client, TABLES, pacing, (error) => reported.push(error));
    expect((await store.open()).map(({ id }) => id)).toEqual(mode === 'test' ? ['exp_a', 'exp_b'] : ['exp_b']);
    expect(reported).toMatchObject(mode === 'test' ? [] : [UNREADABLE]);
  },
);

test('unreadable due webhooks are postponed, so that they do not hide the later webhooks of their partition', async () => {
  const due = (pk: string, sweepAtMs: number) => ({
    [partition]: pk,
    [sort]: '1',
    [RegistryTable.dueIndex.partitionKey]: duePartition(0),
    [RegistryTable.dueIndex.sortKey]: sweepAtMs,
  });
  const unreadable = [1, 2].map((each) => due(`OF_A_FUTURE_VERSION#${each}`, each));
  const { client, pacing, clock, reported } = await holding(...unreadable, due('WEBHOOK_REPLAY#whr_1', 3));
  const webhooks = new DynamoDbWebhooks(client, TABLES, pacing, (error) => reported.push(error));
  const found = [];
  // With the limit 1, each sweep reads one row of each partition.
  for (let sweep = 0; sweep < 3; sweep += 1) found.push(...(await webhooks.due(clock.nowMs(), 1)));
  expect(found).toMatchObject([{ task: { replayId: 'whr_1' } }]);
  expect(reported).toMatchObject([UNREADABLE, UNREADABLE]);
});

test('a list of deliveries omits an unreadable delivery, and its pages are full', async () => {
  const endpoint = endpointNamed('shop');
  const rows = Array.from({ length: 20 }, (_, each) => {
    const atMs = Date.UTC(2026, 2, 1) + each * 1_000;
    return deliveryRow(newDelivery(systemDigest, OWNER, endpoint, webhookMessage(eventNamed(`${each}`, atMs)), atMs));
  });
  const [bad, good] = rows.filter((row) => row[partition] === rows[0]?.[partition]);
  const { client, pacing, reported } = await holding({ ...bad, status: 'of_a_future_version' }, { ...good });
  const webhooks = new DynamoDbWebhooks(client, TABLES, pacing, (error) => reported.push(error));
  const listed = await webhooks.listDeliveries(endpoint.id, { limit: 1, oldestFirst: true });
  expect(listed.map(({ id }) => id)).toEqual([good?.[sort]]);
  expect(reported).toMatchObject([UNREADABLE]);
});

test('a read of an unreadable lane throws the error row_unreadable', async () => {
  const { client, pacing } = await holding({ ...laneKey('whe_1'), revision: 'of a future version' });
  await expect(new DynamoDbWebhooks(client, TABLES, pacing).readLane('whe_1')).rejects.toMatchObject(UNREADABLE);
});
