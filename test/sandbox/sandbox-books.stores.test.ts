import { CreateTableCommand, DeleteTableCommand, waitUntilTableExists } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll } from '@jest/globals';
import { KeyAttribute } from '../../lambdas/kernel/contract/tables.ts';
import type { Books } from '../../sandbox/books.ts';
import { createDynamoDbBooks } from '../../sandbox/dynamodb-books.ts';
import { describeSandbox } from '../processors/processor-sandbox-suite.ts';
import { dynamoDbClient } from '../support/local-aws.ts';
import { describeMail } from './mail-suite.ts';
import { describeSandboxEvents } from './sandbox-events-suite.ts';
import { describeShop } from './shop-suite.ts';

const client = dynamoDbClient();

/** Books in a table of their own. */
function booksIn(name: string): () => Promise<Books> {
  const tableName = `${name}-${crypto.randomUUID()}`;
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
  return async () =>
    createDynamoDbBooks({ client: DynamoDBDocumentClient.from(client), tableName, wait: async () => {} });
}

const sandbox = booksIn('sandbox');
describeSandbox('DynamoDB', sandbox);
describeSandboxEvents('DynamoDB', sandbox);
describeShop('DynamoDB', booksIn('shop'));
describeMail('DynamoDB', booksIn('mail'));
