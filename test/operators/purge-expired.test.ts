import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { IdempotencyRow } from '../../lambdas/kernel/contract/rows.ts';
import { DynamoDbExpiredRecords } from '../../lambdas/operators/store/dynamodb-expired-records.ts';
import { type PurgeTools, purgeExpiredJob } from '../../lambdas/operators/use/purge-expired.ts';
import { finishJob } from '../jobs/finish-job.ts';
import { RUN } from '../support/causes.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { MemoryDynamoDb } from '../world/memory-dynamodb.ts';
import { TABLE_SHAPES, TABLES } from '../world/tables.ts';
import { describeExpiredRecords, type PutRecord } from './expired-records-suite.ts';

/** The rows have only the fields relevant to their expiry. A page has two or three rows. */
class Records extends DynamoDbExpiredRecords {
  readonly #database: MemoryDynamoDb;

  constructor() {
    const tables = TABLE_SHAPES.map((shape) => ({ ...shape, readers: { [IdempotencyRow.record]: () => undefined } }));
    const database = new MemoryDynamoDb({ tables, pageBytes: 150 });
    super(database.client, TABLES.idempotency, { clock: new SimulatedClock(), entropy: countingEntropy() });
    this.#database = database;
  }

  async put({ key, status, expiresAtSeconds }: PutRecord): Promise<void> {
    const expiry = expiresAtSeconds === undefined ? {} : { expiresAt: expiresAtSeconds };
    const Item = { pk: key, status, ...expiry };
    await this.#database.client.send(new PutCommand({ TableName: TABLES.idempotency, Item }));
  }

  keys(): readonly string[] {
    return this.#database.items(TABLES.idempotency).map(({ pk }) => pk as string);
  }
}

describeExpiredRecords('in memory', async () => {
  const made = new Records();
  return { records: made, put: (record) => made.put(record), keys: async () => made.keys() };
});

const NIGHT = Date.UTC(2026, 2, 10, 3, 30);
const DAY_SECONDS = 86_400;
const ALL_ON = [
  { table: 'idempotency', isOn: true },
  { table: 'registry', isOn: true },
];

let records: Records;
let reported: (readonly [number, readonly string[]])[];
let faults: unknown[];

beforeEach(() => {
  records = new Records();
  reported = [];
  faults = [];
});

const tools = (changes: Partial<PurgeTools> = {}): PurgeTools => ({
  records,
  timeToLive: { states: async () => ALL_ON },
  clock: new SimulatedClock(NIGHT),
  observer: { purged: (left, notWorking) => reported.push([left, notWorking]), failed: (error) => faults.push(error) },
  ...changes,
});
const put = async (count: number, ageDays: number, prefix = 'OP#old#'): Promise<void> => {
  for (let index = 0; index < count; index += 1) {
    const expiresAtSeconds = NIGHT / 1000 - ageDays * DAY_SECONDS;
    await records.put({ key: `${prefix}${'x'.repeat(index % 40)}${index}`, status: 'COMPLETED', expiresAtSeconds });
  }
};

describe('the nightly purge', () => {
  test('deletes and counts records more than four days past their expiry, in all segments', async () => {
    await put(100, 4.1);
    await put(10, 3.9, 'OP#young#');
    await put(10, -20, 'OP#valid#');
    await records.put({ key: 'OP#open', status: 'INPROGRESS' });
    await records.put({ key: 'OP#for ever', status: 'COMPLETED' });

    expect(await finishJob(purgeExpiredJob(tools()), NIGHT)).toMatchObject({ done: 100, left: 0, failed: 0 });
    expect(records.keys()).toHaveLength(22);
    expect(records.keys().filter((key) => key.startsWith('OP#old#'))).toEqual([]);
    expect(reported).toEqual([[100, []]]);
  });

  test('also deletes the records of a store without TTL, and does not count them as left behind by TTL', async () => {
    await put(30, 5);
    const withoutTimeToLive = new Records();
    for (let index = 0; index < 20; index += 1) {
      const expiresAtSeconds = NIGHT / 1000 - (index < 12 ? 5 : 3) * DAY_SECONDS;
      await withoutTimeToLive.put({ key: `OP#${index}`, status: 'COMPLETED', expiresAtSeconds });
    }
    const job = purgeExpiredJob(tools({ withoutTimeToLive }));
    expect(await finishJob(job, NIGHT)).toMatchObject({ done: 42, left: 0, failed: 0 });
    expect([records.keys().length, withoutTimeToLive.keys().length]).toEqual([0, 8]);
    expect(reported).toEqual([[30, []]]);
  });

  test('deletes each record once, even if a page is read twice', async () => {
    await put(50, 5);
    const counted: boolean[] = [];
    const remove = records.remove.bind(records);
    records.remove = async (record) => {
      const removed = await remove(record);
      counted.push(removed);
      return removed;
    };
    await finishJob(purgeExpiredJob(tools()), NIGHT, { doubled: true });

    expect(records.keys()).toEqual([]);
    expect(counted.filter((removed) => removed)).toHaveLength(50);
  });

  test('starts with a different segment each night, so that several nights cover a large table', async () => {
    const begun: number[] = [];
    const endless: PurgeTools['records'] = {
      scan: async ({ segment }) => {
        begun.push(segment);
        return { found: [], next: 'on' };
      },
      remove: async () => false,
    };
    for (let night = 0; night < 16; night += 1) {
      await purgeExpiredJob(tools({ records: endless })).page(undefined, 10, {
        ...RUN,
        scheduledForMs: NIGHT + night * DAY_SECONDS * 1000,
      });
    }
    expect(new Set(begun).size).toBe(16);
    expect(begun).toHaveLength(16 * 20);
  });

  test('deletes nothing after its deadline, and counts each deletion that fails', async () => {
    await put(20, 5);
    expect(await finishJob(purgeExpiredJob(tools()), NIGHT, { deadlineMs: NIGHT })).toMatchObject({
      done: 0,
      left: 20,
    });

    const failing = tools();
    let calls = 0;
    const remove = records.remove.bind(records);
    records.remove = async (record) => {
      calls += 1;
      if (calls % 2 === 0) throw new Error('the store is unavailable');
      return remove(record);
    };
    expect(await finishJob(purgeExpiredJob(failing), NIGHT)).toMatchObject({ done: 10, failed: 10 });
    expect(records.keys()).toHaveLength(10);
    expect(faults).toHaveLength(10);
  });

  test('reports the tables whose TTL is off', async () => {
    const states = async () => [
      { table: 'idempotency', isOn: true },
      { table: 'registry', isOn: false },
    ];
    await finishJob(purgeExpiredJob(tools({ timeToLive: { states } })), NIGHT);
    expect(reported).toEqual([[0, ['registry']]]);
  });

  test('reports a table whose TTL is on but leaves too many records', async () => {
    await put(1_001, 5);
    await finishJob(purgeExpiredJob(tools()), NIGHT);
    await put(1_000, 5);
    await finishJob(purgeExpiredJob(tools()), NIGHT);
    expect(reported).toEqual([
      [1_001, ['idempotency']],
      [1_000, []],
    ]);
  });
});
