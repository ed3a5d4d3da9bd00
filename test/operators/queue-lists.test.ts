import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { expect, test } from '@jest/globals';
import { callbackOperation } from '../../lambdas/callbacks/ids.ts';
import { RegistryRow } from '../../lambdas/kernel/contract/rows.ts';
import { DEFAULT_SHARDS } from '../../lambdas/kernel/contract/shards.ts';
import { KeyAttribute } from '../../lambdas/kernel/contract/tables.ts';
import { ownerToken } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { DynamoDbQueues } from '../../lambdas/operators/store/dynamodb-queues.ts';
import { holdItem } from '../../lambdas/payments/store/queue-items.ts';
import type { OrphanedCallback } from '../../lambdas/payments/use/effect-store.ts';
import { openRecord, paymentIdFor } from '../payments/payment-fixtures.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { Stores } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';
import { describeQueueLists } from './queue-lists-suite.ts';

const DAY_MS = 86_400_000;

function storesOf(clock: SimulatedClock) {
  const stores = new Stores(clock);
  const lists = new DynamoDbQueues(stores.database.client, TABLES, { clock, entropy: countingEntropy() });
  return { stores, lists };
}

const orphanOf = (chargeId: string, isForeign: boolean): OrphanedCallback => ({
  operationId: callbackOperation(systemDigest, 'memory', chargeId),
  event: { processorName: 'memory', mode: 'test', eventId: chargeId, type: 'charge.succeeded', chargeId },
  reason: 'payment_unknown',
  receivedAtMs: 0,
  isForeign,
});

describeQueueLists('in-memory', async (clock) => {
  const { stores, lists } = storesOf(clock);
  return { lists, payments: stores, effects: stores, work: stores };
});

test('a long shard of a queue is counted up to a limit, and the summary says that there are more entries', async () => {
  const { stores, lists } = storesOf(new SimulatedClock());
  const putHold = (each: number): Promise<unknown> => {
    const hold = { paymentId: paymentIdFor(`hold-${each}`), authorizedAtMs: 0 };
    const Item = { ...holdItem(TABLES, hold).Put?.Item, [KeyAttribute.partition]: `${RegistryRow.hold}0` };
    return stores.database.client.send(new PutCommand({ TableName: TABLES.registry, Item }));
  };
  for (let each = 0; each < 125; each += 1) await putHold(each);
  expect(await lists.summary('holds')).toEqual({ waiting: 125, hasMore: false, oldestMs: 0 });
  await putHold(125);
  expect(await lists.summary('holds')).toEqual({ waiting: 125, hasMore: true, oldestMs: 0 });
});

test('300 unmatched callbacks of other programs do not hide the one callback that needs an operator', async () => {
  const { stores, lists } = storesOf(new SimulatedClock());
  for (let each = 0; each <= 300; each += 1) {
    const chargeId = `ch_${String(each).padStart(3, '0')}`;
    const orphan = orphanOf(chargeId, each < 300);
    const key = { [KeyAttribute.partition]: `${RegistryRow.keptOrphan}0`, [KeyAttribute.sort]: chargeId };
    await stores.database.client.send(new PutCommand({ TableName: TABLES.registry, Item: { ...key, ...orphan } }));
  }
  const { entries, hasMore } = await lists.needingOperator('unmatched_callbacks');
  expect([entries.map(({ part }) => part), hasMore]).toEqual([['ch_300'], false]);
});

test('of the callbacks that are no longer retried, those of other programs expire 30 days after their arrival', async () => {
  const { stores, lists } = storesOf(new SimulatedClock());
  for (const orphan of [orphanOf('ch_own', false), orphanOf('ch_foreign', true)]) {
    const record = { operationId: orphan.operationId, owner: ownerToken('owner-a'), recordedAtMs: 0 };
    await stores.recordEffect({ record, transitions: [], orphan });
    await stores.giveUp(orphan);
  }
  const kept = async () => (await lists.page('unmatched_callbacks', { limit: 10 })).map(({ entry: { part } }) => part);
  stores.database.deleteExpired(30 * DAY_MS - 1_000);
  expect(new Set(await kept())).toEqual(new Set(['ch_own', 'ch_foreign']));
  stores.database.deleteExpired(30 * DAY_MS);
  expect(await kept()).toEqual(['ch_own']);
});

test('listing the claims makes one call per shard, however many claims have an active owner', async () => {
  const clock = new SimulatedClock();
  const { stores } = storesOf(clock);
  for (let each = 0; each < 100; each += 1) {
    await stores.claim({ record: openRecord(paymentIdFor(`active-${each}`), { leaseExpiresAtMs: clock.nowMs() + 1 }) });
  }
  let calls = 0;
  const client = stores.database.clientWith((_, apply) => {
    calls += 1;
    return apply();
  });
  const lists = new DynamoDbQueues(client, TABLES, { clock, entropy: countingEntropy() });
  expect(await lists.page('claims', { limit: 1 })).toEqual([]);
  expect(calls).toBe(DEFAULT_SHARDS.claims);
});
