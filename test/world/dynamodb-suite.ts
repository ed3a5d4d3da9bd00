import {
  ConditionalCheckFailedException,
  DynamoDBServiceException,
  TransactionCanceledException,
} from '@aws-sdk/client-dynamodb';
import {
  BatchGetCommand,
  DeleteCommand,
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  type PutCommandInput,
  QueryCommand,
  type QueryCommandInput,
  ScanCommand,
  TransactWriteCommand,
  type TransactWriteCommandInput,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { describe, expect, test } from '@jest/globals';
import { describeBatchWrites } from './dynamodb-batch-suite.ts';
import type { TableShape } from './memory-table.ts';

/** The row reader accepts every row whose partition key begins with `A#`. */
export const SUITE_SHAPE: TableShape = {
  name: 'suite',
  partition: { name: 'pk', type: 'S' },
  sort: { name: 'sk', type: 'S' },
  indexes: { open: { partition: { name: 'shard', type: 'N' }, sort: { name: 'at', type: 'N' } } },
  timeToLive: 'expiresAt',
  readers: { 'A#': () => undefined },
};

type TransactItems = NonNullable<TransactWriteCommandInput['TransactItems']>;

export async function outcomeOf(call: Promise<unknown>): Promise<unknown> {
  try {
    const { $metadata: _, ...output } = (await call) as Record<string, unknown>;
    return output;
  } catch (error) {
    if (error instanceof TransactionCanceledException) {
      const reasons = (error.CancellationReasons ?? []).map(({ Code, Item }) => ({
        code: Code,
        item: Item === undefined ? undefined : unmarshall(Item),
      }));
      return { error: error.name, reasons };
    }
    if (error instanceof ConditionalCheckFailedException) {
      return { error: error.name, item: error.Item === undefined ? undefined : unmarshall(error.Item) };
    }
    if (error instanceof DynamoDBServiceException) return { error: error.name };
    return { thrown: true };
  }
}

/** Each test uses its own partitions. */
export function describeDynamoDb(
  name: string,
  setup: () => Promise<{ readonly client: DynamoDBDocumentClient; readonly table: string }>,
): void {
  let tests = 0;

  async function prepare() {
    const { client, table } = await setup();
    tests += 1;
    const pk = `A#${tests}-${process.pid}`;
    const key = (sk: string) => ({ pk, sk });
    return {
      client,
      table,
      pk,
      key,
      put: (item: Record<string, unknown>, more: Partial<PutCommandInput> = {}) =>
        client.send(new PutCommand({ TableName: table, Item: { pk, ...item }, ...more })),
      get: async (sk: string) =>
        (await client.send(new GetCommand({ TableName: table, Key: key(sk), ConsistentRead: true }))).Item,
      update: (sk: string, more: Omit<ConstructorParameters<typeof UpdateCommand>[0], 'TableName' | 'Key'>) =>
        client.send(new UpdateCommand({ TableName: table, Key: key(sk), ...more })),
      transact: (items: TransactItems, token?: string) =>
        client.send(
          new TransactWriteCommand({
            TransactItems: items,
            ...(token === undefined ? {} : { ClientRequestToken: token }),
          }),
        ),
      query: async (more: Partial<QueryCommandInput> = {}) => {
        const output = await client.send(
          new QueryCommand({
            TableName: table,
            KeyConditionExpression: 'pk = :pk',
            ...more,
            ExpressionAttributeValues: { ':pk': pk, ...more.ExpressionAttributeValues },
          }),
        );
        return { keys: (output.Items ?? []).map((item) => String(item['sk'])), last: output.LastEvaluatedKey };
      },
    };
  }

  describe(`DynamoDB: ${name}`, () => {
    describe('items', () => {
      test('are stored as copies, including binary values, sets, lists, maps and null', async () => {
        const { put, get } = await prepare();
        const item = {
          sk: 'all',
          text: 'ä€𝄞',
          none: '',
          number: -1.5,
          yes: true,
          nothing: null,
          bytes: Uint8Array.of(0, 255),
          words: new Set(['a', 'b']),
          list: [1, { deep: ['x'] }],
        };
        await put(item);
        item.bytes[0] = 7;
        item.list.push(2);
        const found = await get('all');
        expect(found).toEqual({ ...found, number: -1.5, none: '', nothing: null, list: [1, { deep: ['x'] }] });
        expect(Array.from(found?.['bytes'] as Uint8Array)).toEqual([0, 255]);
        expect(found?.['words']).toEqual(new Set(['a', 'b']));
      });

      test.each([
        ['an undefined value inside an object', { value: { inside: undefined } }],
        ['NaN', { value: Number.NaN }],
        ['an empty set', { value: new Set() }],
        ['an instance of a class', { value: new Date(0) }],
        ['an unsafe number', { value: 2 ** 60 }],
      ])('are rejected by the client, not by the service: %s', async (_, item) => {
        const { put } = await prepare();
        expect(await outcomeOf(put({ sk: 'a', ...item }))).toEqual({ thrown: true });
      });

      test('can have attribute names that JavaScript objects inherit, such as constructor', async () => {
        const { put, get } = await prepare();
        const names = Object.getOwnPropertyNames(Object.prototype).filter((each) => each !== '__proto__');
        const value = Object.fromEntries(names.map((each) => [each, 'x']));
        await put({ sk: 'a', value, list: [{ constructor: { constructor: 'y' } }] });
        const found = await get('a');
        expect(new Map(Object.entries(found?.['value'] as object))).toEqual(new Map(Object.entries(value)));
        expect(JSON.stringify(found?.['list'])).toBe('[{"constructor":{"constructor":"y"}}]');
      });

      test('are stored without undefined attributes', async () => {
        const { put, get, key } = await prepare();
        await put({ sk: 'a', value: undefined });
        expect(await get('a')).toEqual(key('a'));
        expect(await get('a')).not.toHaveProperty('value');
      });

      test.each([
        ['an empty sort key', { sk: '' }],
        ['a key of a wrong type', { sk: 1 }],
        ['no sort key', {}],
        ['an index key of a wrong type', { sk: 'a', shard: 'one', at: 1 }],
        ['more than 400 KB', { sk: 'a', text: 'x'.repeat(400 * 1024) }],
      ])('are refused with %s', async (_, item) => {
        const { put } = await prepare();
        expect(await outcomeOf(put(item))).toEqual({ error: 'ValidationException' });
      });

      test('can be deleted, and deleting a missing item has no effect', async () => {
        const { client, table, key, put, get } = await prepare();
        await put({ sk: 'a' });
        const removed = await client.send(
          new DeleteCommand({ TableName: table, Key: key('a'), ReturnValues: 'ALL_OLD' }),
        );
        expect(removed.Attributes).toEqual(key('a'));
        expect(await outcomeOf(client.send(new DeleteCommand({ TableName: table, Key: key('a') })))).toEqual({});
        expect(await get('a')).toBeUndefined();
      });

      test('are read in batches, from which missing items are omitted; duplicate keys are refused', async () => {
        const { client, table, key, put } = await prepare();
        await put({ sk: 'a' });
        await put({ sk: 'b' });
        const keys = ['a', 'b', 'c'].map(key);
        const { Responses } = await client.send(new BatchGetCommand({ RequestItems: { [table]: { Keys: keys } } }));
        expect(new Set(Responses?.[table]?.map(({ sk }) => String(sk)))).toEqual(new Set(['a', 'b']));
        const twice = client.send(new BatchGetCommand({ RequestItems: { [table]: { Keys: [key('a'), key('a')] } } }));
        expect(await outcomeOf(twice)).toEqual({ error: 'ValidationException' });
      });
    });

    describeBatchWrites(prepare);

    describe('conditions', () => {
      const ITEM = { sk: 'a', number: 5, text: 'abc', owner: 'me', flag: true, bytes: Uint8Array.of(1) };
      test.each([
        ['attribute_exists(pk)', true],
        ['attribute_not_exists(pk)', false],
        ['attribute_not_exists(absent)', true],
        ['#number = :five', true],
        ['#number <> :five', false],
        ['#number < :six AND #number > :four', true],
        ['#number <= :five AND #number >= :five', true],
        ['NOT #number = :five', false],
        ['#number = :four OR #number = :five AND attribute_exists(absent)', false],
        ['(#number = :five OR #number = :four) AND attribute_exists(pk)', true],
        ['#number BETWEEN :four AND :six', true],
        ['#number BETWEEN :five AND :five', true],
        ['begins_with(text_value, :ab)', true],
        ['text_value < :b', true],
        ['text_value < :five', false],
        ['text_value = :five', false],
        ['text_value <> :five', true],
        ['absent = :five', false],
        ['absent < :five', false],
        ['absent <> :five', true],
        ['flag = :true', true],
        ['bytes_value = :bytes', true],
      ])('%s', async (condition, holds) => {
        const { put } = await prepare();
        const { text, bytes, ...rest } = ITEM;
        const item = { ...rest, text_value: text, bytes_value: bytes };
        await put(item);
        const values = {
          ':four': 4,
          ':five': 5,
          ':six': 6,
          ':ab': 'ab',
          ':b': 'b',
          ':true': true,
          ':bytes': Uint8Array.of(1),
        };
        const used = Object.entries(values).filter(([value]) => condition.includes(value));
        const found = await outcomeOf(
          put(item, {
            ConditionExpression: condition,
            ...(used.length === 0 ? {} : { ExpressionAttributeValues: Object.fromEntries(used) }),
            ...(condition.includes('#number') ? { ExpressionAttributeNames: { '#number': 'number' } } : {}),
            ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
          }),
        );
        expect(found).toMatchObject(holds ? {} : { error: 'ConditionalCheckFailedException', item: { number: 5 } });
      });

      test('return the item on failure only if the request asks for it', async () => {
        const { put } = await prepare();
        await put({ sk: 'a' });
        const found = await outcomeOf(put({ sk: 'a' }, { ConditionExpression: 'attribute_not_exists(pk)' }));
        expect(found).toEqual({ error: 'ConditionalCheckFailedException', item: undefined });
      });

      test.each([
        ['an undefined placeholder', { ConditionExpression: 'pk = :missing' }],
        [
          'a value that no expression uses',
          { ConditionExpression: 'attribute_exists(pk)', ExpressionAttributeValues: { ':unused': 1 } },
        ],
        [
          'a name that no expression uses',
          { ConditionExpression: 'attribute_exists(pk)', ExpressionAttributeNames: { '#unused': 'x' } },
        ],
        ['an unknown trailing word', { ConditionExpression: 'attribute_exists(pk) PLEASE' }],
      ])('are refused with %s', async (_, more) => {
        const { put } = await prepare();
        expect(await outcomeOf(put({ sk: 'a' }, more))).toEqual({ error: 'ValidationException' });
      });
    });

    describe('updates', () => {
      test('set, add, remove and delete attributes, and create a missing item', async () => {
        const { update, get } = await prepare();
        await update('a', {
          UpdateExpression: 'SET begun = :one, words = :words ADD total_count :two, more :words',
          ExpressionAttributeValues: { ':one': 1, ':two': 2, ':words': new Set(['x', 'y']) },
        });
        await update('a', {
          UpdateExpression:
            'SET copy_of = total_count, later = total_count + :less ADD total_count :less DELETE words :x REMOVE begun',
          ExpressionAttributeValues: { ':less': -1, ':x': new Set(['x']) },
        });
        expect(await get('a')).toMatchObject({
          copy_of: 2,
          later: 1,
          total_count: 1,
          words: new Set(['y']),
          more: new Set(['x', 'y']),
        });
        expect(await get('a')).not.toHaveProperty('begun');
      });

      test.each([
        ['NONE', undefined],
        ['ALL_OLD', { kept: 1, changed: 1 }],
        ['ALL_NEW', { kept: 1, changed: 2 }],
        ['UPDATED_OLD', { changed: 1 }],
        ['UPDATED_NEW', { changed: 2 }],
      ] as const)('return the attributes that ReturnValues %s selects', async (wanted, expected) => {
        const { put, update, key } = await prepare();
        await put({ sk: 'a', kept: 1, changed: 1 });
        const { Attributes } = await update('a', {
          UpdateExpression: 'SET changed = :two',
          ExpressionAttributeValues: { ':two': 2 },
          ReturnValues: wanted,
        });
        expect(Attributes).toEqual(wanted.startsWith('ALL') ? { ...key('a'), ...expected } : expected);
      });

      test.each([
        ['change the key', 'SET sk = :value'],
        ['copy a missing attribute', 'SET one = absent, two = :value'],
        ['add to text', 'SET one = :value ADD word :value'],
      ])('are refused if they %s', async (_, expression) => {
        const { put, update } = await prepare();
        await put({ sk: 'a', word: 'text' });
        const found = update('a', { UpdateExpression: expression, ExpressionAttributeValues: { ':value': 1 } });
        expect(await outcomeOf(found)).toEqual({ error: 'ValidationException' });
      });
    });

    describe('transactions', () => {
      test('apply all or nothing, and return a reason for each item', async () => {
        const { transact, put, get, table, pk, key } = await prepare();
        await put({ sk: 'there', version: 1 });
        const isNew = { ConditionExpression: 'attribute_not_exists(pk)' };
        const found = await outcomeOf(
          transact([
            { Put: { TableName: table, Item: { pk, sk: 'new' }, ...isNew } },
            {
              Put: {
                TableName: table,
                Item: { pk, sk: 'there', version: 2 },
                ...isNew,
                ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
              },
            },
            { ConditionCheck: { TableName: table, Key: key('missing'), ConditionExpression: 'attribute_exists(pk)' } },
          ]),
        );
        expect(found).toEqual({
          error: 'TransactionCanceledException',
          reasons: [
            { code: 'None', item: undefined },
            { code: 'ConditionalCheckFailed', item: { ...key('there'), version: 1 } },
            { code: 'ConditionalCheckFailed', item: undefined },
          ],
        });
        expect(await get('new')).toBeUndefined();
        expect(await get('there')).toMatchObject({ version: 1 });
      });

      test('can combine puts, updates, condition checks and deletes', async () => {
        const { transact, put, get, table, pk, key } = await prepare();
        for (const sk of ['gone', 'changed', 'checked']) await put({ sk });
        await transact([
          { Put: { TableName: table, Item: { pk, sk: 'new' } } },
          {
            Update: {
              TableName: table,
              Key: key('changed'),
              UpdateExpression: 'ADD sends :one',
              ExpressionAttributeValues: { ':one': 1 },
            },
          },
          { ConditionCheck: { TableName: table, Key: key('checked'), ConditionExpression: 'attribute_exists(pk)' } },
          { Delete: { TableName: table, Key: key('gone') } },
        ]);
        expect(await get('new')).toEqual(key('new'));
        expect(await get('changed')).toEqual({ ...key('changed'), sends: 1 });
        expect(await get('checked')).toEqual(key('checked'));
        expect(await get('gone')).toBeUndefined();
      });

      test('are refused if they have two operations on one item', async () => {
        const { transact, table, pk, key } = await prepare();
        const found = transact([
          { Put: { TableName: table, Item: { pk, sk: 'a' } } },
          { Delete: { TableName: table, Key: key('a') } },
        ]);
        expect(await outcomeOf(found)).toEqual({ error: 'ValidationException' });
      });

      test('accept a hundred items, but not a hundred and one', async () => {
        const { transact, table, pk, query } = await prepare();
        const some = (count: number): TransactItems =>
          Array.from({ length: count }, (_, index) => ({ Put: { TableName: table, Item: { pk, sk: `${index}` } } }));
        expect(await outcomeOf(transact(some(101)))).toEqual({ error: 'ValidationException' });
        await transact(some(100));
        expect((await query()).keys).toHaveLength(100);
      });

      test('are applied only once per client request token', async () => {
        const { transact, table, key, get } = await prepare();
        const items: TransactItems = [
          {
            Update: {
              TableName: table,
              Key: key('a'),
              UpdateExpression: 'ADD sends :one',
              ExpressionAttributeValues: { ':one': 1 },
            },
          },
        ];
        const token = `token-${tests}-${process.pid}`;
        await transact(items, token);
        expect(await outcomeOf(transact(items, token))).toEqual({});
        expect(await get('a')).toMatchObject({ sends: 1 });
        const others: TransactItems = [{ Delete: { TableName: table, Key: key('a') } }];
        expect(await outcomeOf(transact(others, token))).toEqual({ error: 'IdempotentParameterMismatchException' });
      });

      test('can be retried with the same token after a cancellation', async () => {
        const { transact, table, pk, put, get, client, key } = await prepare();
        await put({ sk: 'a', old: true });
        const items: TransactItems = [
          { Put: { TableName: table, Item: { pk, sk: 'a' }, ConditionExpression: 'attribute_not_exists(pk)' } },
        ];
        const token = `again-${tests}-${process.pid}`;
        expect(await outcomeOf(transact(items, token))).toMatchObject({ error: 'TransactionCanceledException' });
        await client.send(new DeleteCommand({ TableName: table, Key: key('a') }));
        expect(await outcomeOf(transact(items, token))).toEqual({});
        expect(await get('a')).toEqual({ pk, sk: 'a' });
      });
    });

    describe('queries', () => {
      const SORTS = ['a', 'ab', 'b', 'ba', 'c'];
      test.each([
        ['sk = :x', { ':x': 'b' }, ['b']],
        ['sk < :x', { ':x': 'b' }, ['a', 'ab']],
        ['sk <= :x', { ':x': 'b' }, ['a', 'ab', 'b']],
        ['sk > :x', { ':x': 'b' }, ['ba', 'c']],
        ['sk >= :x', { ':x': 'b' }, ['b', 'ba', 'c']],
        ['sk BETWEEN :x AND :y', { ':x': 'ab', ':y': 'ba' }, ['ab', 'b', 'ba']],
        ['begins_with(sk, :x)', { ':x': 'a' }, ['a', 'ab']],
        ['begins_with(sk, :x)', { ':x': 'bb' }, []],
      ])('%s', async (condition, values, expected) => {
        const { put, query } = await prepare();
        for (const sk of SORTS) await put({ sk });
        const asked = { KeyConditionExpression: `pk = :pk AND ${condition}`, ExpressionAttributeValues: values };
        expect((await query(asked)).keys).toEqual(expected);
        expect((await query({ ...asked, ScanIndexForward: false })).keys).toEqual(expected.toReversed());
      });

      test('can be paged in both directions, even from the key of a deleted row', async () => {
        const { client, table, key, put, query } = await prepare();
        for (const sk of SORTS) await put({ sk });
        for (const ScanIndexForward of [true, false]) {
          const found: string[] = [];
          let from: Record<string, unknown> | undefined;
          for (let page = 0; page < 4; page += 1) {
            const { keys, last } = await query({
              ScanIndexForward,
              Limit: 2,
              ...(from === undefined ? {} : { ExclusiveStartKey: from }),
            });
            found.push(...keys);
            from = last;
            if (from === undefined) break;
          }
          expect(found).toEqual(ScanIndexForward ? SORTS : SORTS.toReversed());
        }
        await client.send(new DeleteCommand({ TableName: table, Key: key('b') }));
        expect((await query({ ExclusiveStartKey: key('b') })).keys).toEqual(['ba', 'c']);
        expect((await query({ ExclusiveStartKey: key('b'), ScanIndexForward: false })).keys).toEqual(['ab', 'a']);
      });

      test('return a last key even if a limit ends the page at the last row', async () => {
        const { put, query, key } = await prepare();
        await put({ sk: 'a' });
        await put({ sk: 'b' });
        expect((await query({ Limit: 2 })).last).toEqual(key('b'));
        expect((await query({ Limit: 3 })).last).toBeUndefined();
      });

      test('end a page at one megabyte', async () => {
        const { put, query } = await prepare();
        for (const sk of ['a', 'b', 'c', 'd']) await put({ sk, text: 'x'.repeat(390 * 1024) });
        const { keys, last } = await query();
        expect(keys).toEqual(['a', 'b']);
        expect((await query({ ExclusiveStartKey: last })).keys).toEqual(['c', 'd']);
      });

      test('order text by its UTF-8 bytes', async () => {
        const { put, query } = await prepare();
        const sorted = ['Z', 'a', 'ä', '\uffee', '𝄞'];
        for (const sk of sorted.toReversed()) await put({ sk });
        expect((await query()).keys).toEqual(sorted);
      });

      test('apply the filter after the limit, and return only the requested attributes', async () => {
        const { client, table, pk, put } = await prepare();
        for (const [index, sk] of SORTS.entries()) await put({ sk, index, other: 1 });
        const output = await client.send(
          new QueryCommand({
            TableName: table,
            KeyConditionExpression: 'pk = :pk',
            FilterExpression: '#index >= :two',
            ProjectionExpression: 'sk, #index',
            ExpressionAttributeNames: { '#index': 'index' },
            ExpressionAttributeValues: { ':pk': pk, ':two': 2 },
            Limit: 4,
          }),
        );
        expect(output.Items).toEqual([
          { sk: 'b', index: 2 },
          { sk: 'ba', index: 3 },
        ]);
        expect(output).toMatchObject({ Count: 2, ScannedCount: 4 });
      });

      test.each([
        ['a range that ends before it begins', { KeyConditionExpression: 'pk = :pk AND sk BETWEEN :b AND :a' }],
        ['no partition key', { KeyConditionExpression: 'sk > :a AND pk > :pk' }],
      ])('are refused with %s', async (_, asked) => {
        const { query } = await prepare();
        const values = { ':a': 'a', ':b': 'b' };
        const used = Object.entries(values).filter(([each]) => asked.KeyConditionExpression.includes(each));
        const found = query({ ...asked, ExpressionAttributeValues: Object.fromEntries(used) });
        expect(await outcomeOf(found)).toEqual({ error: 'ValidationException' });
      });
    });

    describe('indexes', () => {
      test('contain the keys of the rows with both index attributes, ordered by the second attribute', async () => {
        const { client, table, pk, put, update } = await prepare();
        // All tests share one table, so each test uses its own shard.
        const shard = tests;
        const look = async () => {
          const { Items = [] } = await client.send(
            new QueryCommand({
              TableName: table,
              IndexName: 'open',
              KeyConditionExpression: '#shard = :shard AND #at >= :from',
              ExpressionAttributeNames: { '#shard': 'shard', '#at': 'at' },
              ExpressionAttributeValues: { ':shard': shard, ':from': 2 },
            }),
          );
          return Items;
        };
        await put({ sk: 'late', shard, at: 9, more: 'x' });
        await put({ sk: 'soon', shard, at: 2 });
        await put({ sk: 'before', shard, at: 1 });
        await put({ sk: 'closed', at: 5 });
        expect(await look()).toEqual([
          { pk, sk: 'soon', shard, at: 2 },
          { pk, sk: 'late', shard, at: 9 },
        ]);
        await update('soon', { UpdateExpression: 'REMOVE #shard', ExpressionAttributeNames: { '#shard': 'shard' } });
        await put({ sk: 'late', shard, at: 3 });
        expect(await look()).toEqual([{ pk, sk: 'late', shard, at: 3 }]);
      });
    });

    describe('scans', () => {
      test('return each row once across all segments and pages', async () => {
        const { client, table, pk, put } = await prepare();
        const rows = Array.from({ length: 30 }, (_, index) => ({ pk: `${pk}-${index % 10}`, sk: `${index}`, of: pk }));
        for (const row of rows) await put(row);
        const found: string[] = [];
        for (let segment = 0; segment < 3; segment += 1) {
          let from: Record<string, unknown> | undefined;
          do {
            const page = await client.send(
              new ScanCommand({
                TableName: table,
                Segment: segment,
                TotalSegments: 3,
                Limit: 4,
                FilterExpression: '#of = :of',
                ExpressionAttributeNames: { '#of': 'of' },
                ExpressionAttributeValues: { ':of': pk },
                ConsistentRead: true,
                ...(from === undefined ? {} : { ExclusiveStartKey: from }),
              }),
            );
            found.push(...(page.Items ?? []).map(({ sk }) => String(sk)));
            from = page.LastEvaluatedKey;
          } while (from !== undefined);
        }
        expect(found).toHaveLength(rows.length);
        expect(new Set(found)).toEqual(new Set(rows.map(({ sk }) => sk)));
      });
    });

    test('a request to a missing table fails', async () => {
      const { client, key } = await prepare();
      const found = client.send(new GetCommand({ TableName: 'no-such-table', Key: key('a') }));
      expect(await outcomeOf(found)).toEqual({ error: 'ResourceNotFoundException' });
    });
  });
}
