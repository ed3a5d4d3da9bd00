import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { handle } from 'hono/aws-lambda';
import * as z from 'zod';
import { Environment } from '../contract/environment.ts';
import { createDynamoDbBooks } from './dynamodb-books.ts';
import { createSandbox } from './routes.ts';

const tableName = z.string().min(1).parse(process.env[Environment.sandboxTable]);
const client = DynamoDBDocumentClient.from(new DynamoDBClient());

export const handler = handle(
  createSandbox({
    books: createDynamoDbBooks({ client, tableName, wait }),
    nowMs: Date.now,
    newId: (prefix) => `${prefix}${randomUUID().replaceAll('-', '')}`,
    wait,
  }),
);
