import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SQSClient } from '@aws-sdk/client-sqs';
import { SSMClient } from '@aws-sdk/client-ssm';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { SandboxEnvironment } from '../lambdas/kernel/contract/environment.ts';
import { ActiveSecrets } from '../lambdas/kernel/platform/active-secrets.ts';
import { systemClock } from '../lambdas/kernel/platform/platform.ts';
import { queueUrl, readVariables, secretId, tableName } from '../lambdas/kernel/platform/variables.ts';
import { idempotently } from '../lambdas/once/idempotently.ts';
import { createAwsCallbacks } from './aws-callbacks.ts';
import { createDynamoDbBooks } from './dynamodb-books.ts';
import { createHandler } from './entry.ts';
import { createSqsTasks } from './sqs-tasks.ts';

const settings = readVariables(
  z.object({
    [SandboxEnvironment.sandboxTable]: tableName,
    [SandboxEnvironment.sandboxTasksQueueUrl]: queueUrl,
    [SandboxEnvironment.sandboxSecretId]: secretId,
    [SandboxEnvironment.sandboxAccessSecretId]: secretId.exactOptional(),
    [SandboxEnvironment.callbackAddressParameter]: z.string('is not set').min(1, 'must be the name of a parameter'),
  }),
  process.env,
);
const nowMs = () => systemClock.nowMs();
const known = new ActiveSecrets(new SecretsManagerClient(), { nowMs });
const access = settings[SandboxEnvironment.sandboxAccessSecretId];

/**
 * A request with a key, a change of a charge and a delivery take effect only once. A repeated request without a key can
 * take effect again. E-mails have no keys, as at the real service.
 */
export const handler = idempotently(
  {
    unit: 'a request with a key, a change of a charge, or the delivery of an event',
    record: 'the claim of the key, the version of the charge, or the record of the delivery',
  },
  (runner) =>
    createHandler({
      runner,
      books: createDynamoDbBooks({
        client: DynamoDBDocumentClient.from(new DynamoDBClient()),
        tableName: settings[SandboxEnvironment.sandboxTable],
        wait,
      }),
      tasks: createSqsTasks(new SQSClient(), settings[SandboxEnvironment.sandboxTasksQueueUrl]),
      callbacks: createAwsCallbacks({
        ssm: new SSMClient(),
        secrets: new SecretsManagerClient(),
        addressParameter: settings[SandboxEnvironment.callbackAddressParameter],
        secretId: settings[SandboxEnvironment.sandboxSecretId],
        nowMs,
      }),
      ...(access === undefined ? {} : { secrets: () => known.active(access) }),
      nowMs,
      wireMs: Date.now,
      newId: (prefix) => `${prefix}${randomUUID().replaceAll('-', '')}`,
      wait,
    }),
);
