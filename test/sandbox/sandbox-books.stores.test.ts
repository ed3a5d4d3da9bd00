import { CreateTableCommand, DeleteTableCommand, waitUntilTableExists } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, PutCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { KeyAttribute } from '../../lambdas/kernel/contract/tables.ts';
import { createDynamoDbBooks } from '../../sandbox/dynamodb-books.ts';
import { describeSandbox } from '../processors/processor-sandbox-suite.ts';
import { dynamoDbClient } from '../support/local-aws.ts';
import { describeSandboxEvents } from './sandbox-events-suite.ts';
import { sandboxHarness } from './sandbox-harness.ts';
import { createTestSandbox } from './sandbox-world.ts';

const client = dynamoDbClient();
const tableName = `sandbox-${crypto.randomUUID()}`;

beforeAll(async () => {
  await client.send(
    new CreateTableCommand({
      TableName: tableName,
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [
        { AttributeName: KeyAttribute.partition, KeyType: 'HASH' },
        { AttributeName: KeyAttribute.sort, KeyType: 'RANGE' },
      ],
      AttributeDefinitions: [
        { AttributeName: KeyAttribute.partition, AttributeType: 'S' },
        { AttributeName: KeyAttribute.sort, AttributeType: 'S' },
      ],
    }),
  );
  await waitUntilTableExists({ client, maxWaitTime: 30 }, { TableName: tableName });
});

afterAll(async () => {
  await client.send(new DeleteTableCommand({ TableName: tableName }));
});

const createBooks = async () =>
  createDynamoDbBooks({ client: DynamoDBDocumentClient.from(client), tableName, wait: async () => {} });

describeSandbox('DynamoDB', createBooks);
describeSandboxEvents('DynamoDB', createBooks);

test('a charge from before fees, actions, refunds and disputes were stored is read without them, and can be refunded', async () => {
  const old = {
    id: 'ch_old',
    object: 'charge',
    amount: 500,
    amount_captured: 500,
    amount_refunded: 100,
    currency: 'EUR',
    capture: 'automatic',
    status: 'succeeded',
    failure: null,
    metadata: { payment: 'pay_old' },
    created: 1_767_225_600,
  };
  const { pk, sk } = { pk: 'CHARGE#ch_old', sk: 'CHARGE' };
  await DynamoDBDocumentClient.from(client).send(
    new PutCommand({ TableName: tableName, Item: { pk, sk, version: 2, charge: old } }),
  );
  const harness = sandboxHarness(createTestSandbox(await createBooks()).handler);
  expect(await harness.read('ch_old')).toEqual({
    ...old,
    fee: null,
    action_url: null,
    void_reason: null,
    refunds: [],
    disputes: [],
  });
  expect((await harness.post('/charges/ch_old/refunds', { amount: 400 })).status).toBe(201);
  expect(await harness.read('ch_old')).toMatchObject({ amount_refunded: 500, refunds: [{ amount: 400 }] });
  expect(await harness.types('ch_old')).toEqual(['refund.created']);
});
