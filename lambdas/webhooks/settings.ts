import * as z from 'zod';
import { Environment } from '../kernel/contract/environment.ts';
import { queueUrl, readVariables, secretId, tableName, type Variables } from '../kernel/platform/variables.ts';

/* Each function receives only the variables that it uses. */

const base = z.object({
  [Environment.idempotencyTable]: tableName,
  [Environment.registryTable]: tableName,
  [Environment.webhookTasksQueueUrl]: queueUrl,
  [Environment.webhookLanesQueueUrl]: queueUrl,
});
const calling = base.extend({
  [Environment.webhookRootSecretId]: secretId,
  [Environment.webhookLoopback]: z.enum(['true', 'false'], 'must be true or false'),
});
const answering = calling.extend({ [Environment.ledgerTable]: tableName });
const reading = answering.extend({ [Environment.viewsTable]: tableName, [Environment.parkingQueueUrl]: queueUrl });

export interface WebhookConfig {
  readonly tables: { readonly idempotency: string; readonly registry: string };
  /** URL of the queue of delivery attempts. */
  readonly tasksQueueUrl: string;
  /** URL of the queue of lane runs and replay pages. It has few messages, but each takes long to process. */
  readonly lanesQueueUrl: string;
}

export interface CallingConfig extends WebhookConfig {
  readonly rootSecretId: string;
  readonly allowLoopback: boolean;
}

export function readWebhookConfig(environment: Variables): WebhookConfig {
  return configOf(readVariables(base, environment));
}

export function readCallingConfig(environment: Variables): CallingConfig & { readonly ledgerTable: string } {
  const data = readVariables(answering, environment);
  return { ...callingOf(data), ledgerTable: data[Environment.ledgerTable] };
}

export function readSenderConfig(
  environment: Variables,
): CallingConfig & { readonly viewsTable: string; readonly ledgerTable: string; readonly parkingQueueUrl: string } {
  const data = readVariables(reading, environment);
  return {
    ...callingOf(data),
    viewsTable: data[Environment.viewsTable],
    parkingQueueUrl: data[Environment.parkingQueueUrl],
    ledgerTable: data[Environment.ledgerTable],
  };
}

function callingOf(data: z.infer<typeof calling>): CallingConfig {
  return {
    ...configOf(data),
    rootSecretId: data[Environment.webhookRootSecretId],
    allowLoopback: data[Environment.webhookLoopback] === 'true',
  };
}

function configOf(data: z.infer<typeof base>): WebhookConfig {
  return {
    tables: { idempotency: data[Environment.idempotencyTable], registry: data[Environment.registryTable] },
    tasksQueueUrl: data[Environment.webhookTasksQueueUrl],
    lanesQueueUrl: data[Environment.webhookLanesQueueUrl],
  };
}
