import { CreateTableCommand } from '@aws-sdk/client-dynamodb';
import {
  DeleteCommand,
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  TransactWriteCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import { beforeAll, expect, test } from '@jest/globals';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { dynamoDbClient } from '../support/local-aws.ts';
import { fc } from '../support/properties.ts';
import { whole } from '../support/slice.ts';
import { describeDynamoDb, outcomeOf, SUITE_SHAPE } from './dynamodb-suite.ts';
import { MemoryDynamoDb } from './memory-dynamodb.ts';

const TableName = `suite-${process.pid}`;
const { partition, sort, indexes = {} } = SUITE_SHAPE;

beforeAll(async () => {
  const parts = [partition, ...(sort === undefined ? [] : [sort])];
  const schema = (keys: readonly { readonly name: string }[]) =>
    keys.map(({ name }, index) => ({
      AttributeName: name,
      KeyType: index === 0 ? ('HASH' as const) : ('RANGE' as const),
    }));
  const indexParts = Object.values(indexes).flatMap((index) => [index.partition, index.sort]);
  await dynamoDbClient().send(
    new CreateTableCommand({
      TableName,
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: schema(parts),
      AttributeDefinitions: [...parts, ...indexParts].map(({ name, type }) => ({
        AttributeName: name,
        AttributeType: type,
      })),
      GlobalSecondaryIndexes: Object.entries(indexes).map(([name, index]) => ({
        IndexName: name,
        KeySchema: schema([index.partition, index.sort]),
        Projection: { ProjectionType: 'KEYS_ONLY' },
      })),
    }),
  );
});

describeDynamoDb('the local API', async () => ({ client: documentClient(dynamoDbClient()), table: TableName }));

// ------------------------------------------------------------------------------------------- random sequences of calls

type Call = (client: DynamoDBDocumentClient, pk: string) => Promise<unknown>;

const sk = fc.constantFrom('a', 'b', 'c');
const version = fc.integer({ min: 0, max: 3 });
const item = fc.record(
  {
    version,
    word: fc.constantFrom('', 'x', 'xy', 'é'),
    words: fc.constantFrom(new Set(['x']), new Set(['x', 'y'])),
    nested: fc.constantFrom({ list: [1, { deep: null }] }, {}),
  },
  { requiredKeys: [] },
);
const condition = fc.constantFrom(
  undefined,
  'attribute_not_exists(pk)',
  'attribute_exists(pk) AND NOT attribute_exists(word)',
  'version = :v',
  'version <> :v OR begins_with(word, :w)',
  '(version < :v OR version >= :v) AND word <= :w',
  'version BETWEEN :v AND :v',
);
const update = fc.constantFrom(
  'SET version = :v',
  'ADD version :v',
  'SET word = :w REMOVE version',
  'SET word = :w ADD version :v',
  'SET copied = version',
  'REMOVE word, words',
);

function withValues(...expressions: readonly (string | undefined)[]) {
  const text = expressions.join(' ');
  const used = Object.entries({ ':v': 1, ':w': 'x' }).filter(([name]) => text.includes(name));
  return used.length === 0 ? {} : { ExpressionAttributeValues: Object.fromEntries(used) };
}

const conditional = (text: string | undefined) =>
  text === undefined ? {} : { ConditionExpression: text, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const };

const change = fc.oneof(
  fc.record({ sk, item, condition }).map((each) => ({
    sk: each.sk,
    Put: (pk: string) => ({
      TableName,
      Item: { pk, sk: each.sk, ...each.item },
      ...conditional(each.condition),
      ...withValues(each.condition),
    }),
  })),
  fc.record({ sk, condition }).map((each) => ({
    sk: each.sk,
    Delete: (pk: string) => ({
      TableName,
      Key: { pk, sk: each.sk },
      ...conditional(each.condition),
      ...withValues(each.condition),
    }),
  })),
  fc.record({ sk, condition, update }).map((each) => ({
    sk: each.sk,
    Update: (pk: string) => ({
      TableName,
      Key: { pk, sk: each.sk },
      UpdateExpression: each.update,
      ...conditional(each.condition),
      ...withValues(each.condition, each.update),
    }),
  })),
);

const call: fc.Arbitrary<Call> = fc.oneof(
  change.map(
    (each): Call =>
      (client, pk) => {
        if ('Put' in each) return client.send(new PutCommand({ ...each.Put(pk), ReturnValues: 'ALL_OLD' }));
        if ('Delete' in each) return client.send(new DeleteCommand({ ...each.Delete(pk), ReturnValues: 'ALL_OLD' }));
        return client.send(new UpdateCommand({ ...each.Update(pk), ReturnValues: 'UPDATED_NEW' }));
      },
  ),
  fc.array(change, { minLength: 1, maxLength: 3 }).map(
    (changes): Call =>
      (client, pk) =>
        client.send(
          new TransactWriteCommand({
            TransactItems: changes.map((each) => {
              if ('Put' in each) return { Put: each.Put(pk) };
              return 'Delete' in each ? { Delete: each.Delete(pk) } : { Update: each.Update(pk) };
            }),
          }),
        ),
  ),
  sk.map(
    (each): Call =>
      (client, pk) =>
        client.send(new GetCommand({ TableName, Key: { pk, sk: each }, ConsistentRead: true })),
  ),
  fc.record({ is: fc.constantFrom('<', '<=', '=', '>=', '>'), sk, isForward: fc.boolean() }).map(
    (each): Call =>
      (client, pk) =>
        client.send(
          new QueryCommand({
            TableName,
            KeyConditionExpression: `pk = :pk AND sk ${each.is} :sk`,
            ExpressionAttributeValues: { ':pk': pk, ':sk': each.sk },
            ScanIndexForward: each.isForward,
            ConsistentRead: true,
          }),
        ),
  ),
);

test('the in-memory DynamoDB gives the same results as the local API for any sequence of requests', async () => {
  const client = documentClient(dynamoDbClient());
  const { client: memory } = new MemoryDynamoDb({ tables: [{ ...SUITE_SHAPE, name: TableName }] });
  let histories = 0;
  const history = fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 20 }), async (calls) => {
    histories += 1;
    const pk = `A#random-${process.pid}-${histories}`;
    for (const each of calls) {
      expect(await outcomeOf(each(memory, pk))).toEqual(await outcomeOf(each(client, pk)));
    }
  });
  await fc.assert(history, { numRuns: whole(150, { slice: 40 }) });
});
