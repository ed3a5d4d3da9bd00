import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { deleteEntries } from '../../cli/empty-cache.ts';
import { TableReplayCache } from '../../lambdas/authority/store/replay-cache.ts';
import { IdempotencyRow } from '../../lambdas/kernel/contract/rows.ts';
import { IdempotencyTable } from '../../lambdas/kernel/contract/tables.ts';
import { ownerToken } from '../../lambdas/kernel/ids.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { openRecordItem } from '../../lambdas/once/store/record-items.ts';
import { completedRecord, openRecord, paymentIdFor } from '../payments/payment-fixtures.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { MemoryDynamoDb } from '../world/memory-dynamodb.ts';
import { emptyTables } from '../world/stores.ts';
import { REPLAY_CACHE, TABLE_SHAPES } from '../world/tables.ts';

const id = paymentIdFor('cached');

let clock: SimulatedClock;
let database: MemoryDynamoDb;
let seen: { hits: number; missed: number; notStored: number };
beforeEach(() => {
  clock = new SimulatedClock();
  database = emptyTables(clock);
  seen = { hits: 0, missed: 0, notStored: 0 };
});

const inSeconds = (seconds: number): number => clock.nowMs() / 1000 + seconds;

function cache(client = database.client, fraction = 0): TableReplayCache {
  return new TableReplayCache({
    client,
    table: REPLAY_CACHE,
    clock,
    entropy: { fraction: () => fraction },
    observer: {
      hit: () => void (seen.hits += 1),
      missed: () => void (seen.missed += 1),
      notStored: () => void (seen.notStored += 1),
    },
  });
}

const failing = () => database.clientWith(() => Promise.reject(new Error('the table is unavailable')));

describe('the replay cache', () => {
  test('returns a record that an owner in another process committed, and counts one hit', async () => {
    const record = completedRecord(id, { expiresAtSeconds: inSeconds(86_400) });
    await cache().committed(record);
    const other = cache();
    const entry = { ...record, expiresAtSeconds: record.expiresAtSeconds - 1 };
    expect(await other.find(record.operationId)).toEqual(entry);
    expect(await other.find(record.operationId)).toEqual(entry);
    expect(seen).toEqual({ hits: 1, missed: 0, notStored: 0 });
  });

  test('stores no entry for a process that is not the owner, and counts a miss', async () => {
    const record = completedRecord(id, { expiresAtSeconds: inSeconds(86_400) });
    cache().put(record);
    expect(database.items(REPLAY_CACHE)).toEqual([]);
    expect(seen).toEqual({ hits: 0, missed: 1, notStored: 0 });
    cache().put(completedRecord(id, { expiresAtSeconds: inSeconds(-1) }));
    expect(seen.missed).toBe(1);
  });

  test('does not return an open record, even if the table contains one', async () => {
    const record = openRecord(id, { owner: ownerToken('owner') });
    await database.client.send(new PutCommand({ TableName: REPLAY_CACHE, Item: openRecordItem(record) }));
    expect(await cache().find(record.operationId)).toBeUndefined();
    expect(seen.hits).toBe(0);
  });

  test.each([
    [0, 1],
    [0.5, 1_801],
    [0.999, 3_598],
  ])(
    'with a jitter fraction of %p, stores an entry that expires %d seconds before its record',
    async (fraction, earlier) => {
      const record = completedRecord(id, { expiresAtSeconds: inSeconds(86_400) });
      await cache(undefined, fraction).committed(record);
      const [entry] = database.items(REPLAY_CACHE);
      expect(entry?.[IdempotencyTable.timeToLiveAttribute]).toBe(record.expiresAtSeconds - earlier);
      clock.advance((86_400 - earlier) * 1000 - 1);
      expect(await cache().find(record.operationId)).toBeDefined();
      clock.advance(1);
      expect(await cache().find(record.operationId)).toBeUndefined();
    },
  );

  test('returns nothing while the table fails, and reports the entry that it could not write', async () => {
    const record = completedRecord(id, { expiresAtSeconds: inSeconds(86_400) });
    await cache(failing()).committed(record);
    expect(seen).toEqual({ hits: 0, missed: 0, notStored: 1 });
    await cache().committed(record);
    expect(await cache(failing()).find(record.operationId)).toBeUndefined();
  });

  test('ignores an entry that it cannot read', async () => {
    const record = completedRecord(id, { expiresAtSeconds: inSeconds(86_400) });
    await cache().committed(record);
    const [Item] = database.items(REPLAY_CACHE);
    const lenient = new MemoryDynamoDb({
      tables: TABLE_SHAPES.map((shape) => ({ ...shape, readers: { [IdempotencyRow.record]: () => undefined } })),
    });
    await lenient.client.send(new PutCommand({ TableName: REPLAY_CACHE, Item: { ...Item, answer: 7 } }));
    expect(await cache(lenient.client).find(record.operationId)).toBeUndefined();
    expect(seen.hits).toBe(0);
  });

  test('stops waiting for a table that does not respond', async () => {
    const requests: string[] = [];
    const server = createServer(({ headers }) => void requests.push(String(headers['x-amz-target'])));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const client = new DynamoDBClient({
      endpoint: `http://127.0.0.1:${port}`,
      region: 'eu-west-1',
      credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
      maxAttempts: 1,
    });
    try {
      const silent = cache(documentClient(client));
      const record = completedRecord(id, { expiresAtSeconds: inSeconds(86_400) });
      // Without a timeout, neither call would return.
      await silent.committed(record);
      expect(await cache(documentClient(client)).find(record.operationId)).toBeUndefined();
      expect(seen).toEqual({ hits: 0, missed: 0, notStored: 1 });
    } finally {
      client.destroy();
      server.closeAllConnections();
      server.close();
    }
  });

  test('is empty after the function behind `payonce db empty-cache` has deleted its entries', async () => {
    const records = Array.from({ length: 60 }, (_, number) =>
      completedRecord(paymentIdFor(`cached-${number}`), { expiresAtSeconds: inSeconds(86_400) }),
    );
    for (const record of records) await cache().committed(record);
    expect(await deleteEntries(database.client, REPLAY_CACHE)).toBe(60);
    expect(database.items(REPLAY_CACHE)).toEqual([]);
  });
});
