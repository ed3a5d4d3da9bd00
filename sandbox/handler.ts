import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SQSClient } from '@aws-sdk/client-sqs';
import { SSMClient } from '@aws-sdk/client-ssm';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { Environment } from '../lambdas/kernel/contract/environment.ts';
import { createAwsCallbacks } from './aws-callbacks.ts';
import { createDynamoDbBooks } from './dynamodb-books.ts';
import { createHandler } from './entry.ts';
import { createSqsTasks } from './sqs-tasks.ts';

const setting = (name: string) => z.string(`${name} is not set`).min(1).parse(process.env[name]);
const nowMs = Date.now;

export const handler = createHandler({
  books: createDynamoDbBooks({
    client: DynamoDBDocumentClient.from(new DynamoDBClient()),
    tableName: setting(Environment.sandboxTable),
    wait,
  }),
  tasks: createSqsTasks(new SQSClient(), setting(Environment.sandboxTasksQueueUrl)),
  callbacks: createAwsCallbacks({
    ssm: new SSMClient(),
    secrets: new SecretsManagerClient(),
    addressParameter: setting(Environment.callbackAddressParameter),
    secretId: setting(Environment.sandboxSecretId),
    nowMs,
  }),
  nowMs,
  newId: (prefix) => `${prefix}${randomUUID().replaceAll('-', '')}`,
  wait,
});
