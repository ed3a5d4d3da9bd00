import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { beforeAll } from '@jest/globals';
import type { Books } from '../../sandbox/books.ts';
import { createDynamoDbBooks } from '../../sandbox/dynamodb-books.ts';
import { describeSandbox } from '../processors/processor-sandbox-suite.ts';
import { createBooksTable, dynamoDbClient } from '../support/local-aws.ts';
import { describeMail } from './mail-suite.ts';
import { describeSandboxEvents } from './sandbox-events-suite.ts';
import { describeShop } from './shop-suite.ts';

const client = dynamoDbClient();

function booksIn(name: string): () => Promise<Books> {
  let tableName: string;
  beforeAll(async () => {
    tableName = await createBooksTable(name);
  });
  return async () =>
    createDynamoDbBooks({ client: DynamoDBDocumentClient.from(client), tableName, wait: async () => {} });
}

const sandbox = booksIn('sandbox');
describeSandbox('DynamoDB', sandbox);
describeSandboxEvents('DynamoDB', sandbox);
describeShop('DynamoDB', booksIn('shop'));
describeMail('DynamoDB', booksIn('mail'));
