import { PutCommand, TransactWriteCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, test } from '@jest/globals';
import { describeDynamoDb, outcomeOf, SUITE_SHAPE } from './dynamodb-suite.ts';
import { MemoryDynamoDb, type RowChange } from './memory-dynamodb.ts';
import { TABLE_SHAPES, TABLES } from './tables.ts';

const TableName = SUITE_SHAPE.name;
const memory = () => new MemoryDynamoDb({ tables: [SUITE_SHAPE] });

describeDynamoDb('in memory', async () => ({ client: memory().client, table: TableName }));

describe('rows that cannot be read back', () => {
  const unreadable = { pk: 'PAY#pay_1', sk: 'T#000001', sequence: 0 };

  test('cancel the whole transaction if the parser for their kind rejects them', async () => {
    const database = new MemoryDynamoDb({ tables: TABLE_SHAPES });
    const mark = { pk: 'JOB_MARK#resolve', sk: 'MARK', at: '1' };
    const both = new TransactWriteCommand({
      TransactItems: [
        { Put: { TableName: TABLES.registry, Item: mark } },
        { Put: { TableName: TABLES.ledger, Item: unreadable } },
      ],
    });
    await expect(database.client.send(both)).rejects.toThrow(
      /the row PAY#pay_1 T#000001 of Ledger cannot be read: .*sequence/s,
    );
    expect(database.items(TABLES.registry)).toEqual([]);
    expect(database.unreadable).toHaveLength(1);
  });

  test('are rejected when an update makes them unreadable', async () => {
    const database = new MemoryDynamoDb({ tables: TABLE_SHAPES });
    const key = { pk: 'JOB_MARK#resolve', sk: 'MARK' };
    await database.client.send(new PutCommand({ TableName: TABLES.registry, Item: { ...key, at: '1' } }));
    const update = new UpdateCommand({
      TableName: TABLES.registry,
      Key: key,
      UpdateExpression: 'REMOVE #at',
      ExpressionAttributeNames: { '#at': 'at' },
    });
    await expect(database.client.send(update)).rejects.toThrow(/JOB_MARK#resolve/);
    expect(database.items(TABLES.registry)).toEqual([{ ...key, at: '1' }]);
  });

  test('are rejected when no parser is registered for their kind', async () => {
    const { client } = new MemoryDynamoDb({ tables: TABLE_SHAPES });
    const put = new PutCommand({ TableName: TABLES.registry, Item: { pk: 'NEW_KIND#1', sk: 'a' } });
    await expect(client.send(put)).rejects.toThrow('no reader of Registry accepts the row NEW_KIND#1');
  });
});

/** DynamoDB on the local AWS lacks this validation, so the shared suite cannot cover it. */
describe('validation by DynamoDB', () => {
  test('rejects a reserved word without a placeholder', async () => {
    const { client } = memory();
    const put = new PutCommand({ TableName, Item: { pk: 'A#1', sk: 'a' }, ConditionExpression: 'owner = sk' });
    await expect(client.send(put)).rejects.toThrow('the attribute name is a reserved keyword: owner');
  });

  test('rejects an update that names an attribute twice', async () => {
    const { client } = memory();
    const UpdateExpression = 'SET word = pk REMOVE word';
    const update = new UpdateCommand({ TableName, Key: { pk: 'A#1', sk: 'a' }, UpdateExpression });
    await expect(client.send(update)).rejects.toThrow('Two document paths overlap with each other');
  });

  test('rejects a prefix that is not text', async () => {
    const { client } = memory();
    const put = new PutCommand({
      TableName,
      Item: { pk: 'A#1', sk: 'a' },
      ConditionExpression: 'begins_with(pk, :one)',
      ExpressionAttributeValues: { ':one': 1 },
    });
    await expect(client.send(put)).rejects.toThrow('Incorrect operand type');
  });
});

test('the in-memory implementation rejects a parameter that it would ignore', async () => {
  const { client } = memory();
  const put = new PutCommand({ TableName, Item: { pk: 'A#1', sk: 'a' }, ReturnItemCollectionMetrics: 'SIZE' });
  await expect(client.send(put)).rejects.toThrow('does not support ReturnItemCollectionMetrics of PutCommand');
});

test('the Stream contains each change of a row, but no write without a change', async () => {
  const database = memory();
  const seenChanges: RowChange[] = [];
  database.listen((changes) => seenChanges.push(...changes));
  const put = (more: object) =>
    database.client.send(new PutCommand({ TableName, Item: { pk: 'A#1', sk: 'a', ...more } }));
  await put({ one: 1 });
  await put({ one: 1 });
  await put({ one: 2 });
  const first = { pk: 'A#1', sk: 'a', one: 1 };
  const second = { pk: 'A#1', sk: 'a', one: 2 };
  expect(seenChanges).toEqual([
    { table: TableName, after: first },
    { table: TableName, before: first, after: second },
  ]);
});

test('deleteExpired deletes the expired rows, as DynamoDB’s time to live does', async () => {
  const database = memory();
  for (const [sk, expiresAt] of Object.entries({ past: 99, now: 100, later: 101, never: undefined })) {
    const item = { pk: 'A#1', sk, ...(expiresAt === undefined ? {} : { expiresAt }) };
    await database.client.send(new PutCommand({ TableName, Item: item }));
  }
  expect(database.deleteExpired(100_000)).toBe(2);
  expect(database.items(TableName).map(({ sk }) => sk)).toEqual(['later', 'never']);
});

describe('capacity units of a write', () => {
  const KILOBYTE = 1024;
  const units = async (client: ReturnType<typeof memory>['client'], item: object, isTransaction = false) => {
    const Item = { pk: 'A#1', sk: 'a', ...item };
    const output = isTransaction
      ? await client.send(
          new TransactWriteCommand({
            TransactItems: [{ Put: { TableName, Item } }],
            ReturnConsumedCapacity: 'INDEXES',
          }),
        )
      : await client.send(new PutCommand({ TableName, Item, ReturnConsumedCapacity: 'INDEXES' }));
    return [output.ConsumedCapacity].flat().reduce((sum, each) => sum + (each?.CapacityUnits ?? 0), 0);
  };

  // Amazon DynamoDB developer guide, "Read and write operations": the size is rounded up to a whole KB, and each KB
  // takes one unit. The index contains only keys, so each write of an index entry takes one more unit. In a
  // transaction, all units are doubled.
  test.each([
    ['a small item', {}, 1, 2],
    ['an item of 1.5 KB', { text: 'x'.repeat(1.5 * KILOBYTE) }, 2, 4],
    ['an item in an index', { shard: 1, at: 1 }, 2, 4],
  ])('are counted for %s', async (_, item, alone, inTransaction) => {
    expect(await units(memory().client, item)).toBe(alone);
    expect(await units(memory().client, item, true)).toBe(inTransaction);
  });

  test('are based on the larger of the old and the new size, and include each index entry that moves or is removed', async () => {
    const { client } = memory();
    await units(client, { shard: 1, at: 1 });
    expect(await units(client, { shard: 1, at: 1, more: 1 })).toBe(1);
    expect(await units(client, { shard: 1, at: 2 })).toBe(3);
    expect(await units(client, { text: 'x'.repeat(2.5 * KILOBYTE) })).toBe(4);
    expect(await units(client, {})).toBe(3);
  });
});

test('a request that fails before it is applied changes nothing', async () => {
  const database = memory();
  const failing = database.clientWith(async (command) => {
    throw new Error(`no response to ${command}`);
  });
  const put = new PutCommand({ TableName, Item: { pk: 'A#1', sk: 'a' } });
  await expect(failing.send(put)).rejects.toThrow('no response to PutCommand');
  expect(await outcomeOf(database.client.send(put))).toEqual({});
});
