import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SQSClient } from '@aws-sdk/client-sqs';
import { ActiveSecrets } from '../../kernel/platform/active-secrets.ts';
import type { Clock } from '../../kernel/world.ts';
import type { WebhookSecrets, WebhookTasks } from '../use/webhooks.ts';
import { sqsWebhookTasks } from './sqs-webhook-tasks.ts';
import { webhookSecrets } from './webhook-secrets.ts';

/** SDK retries are off: the sweep repeats due tasks, and callers repeat requests. */
const CLIENT = {
  maxAttempts: 1,
  requestHandler: { requestTimeout: 2_000, throwOnRequestTimeout: true, connectionTimeout: 1_000 },
};

/** The queue of webhook tasks from a function's settings. */
export function configuredTasks({ tasksQueueUrl }: { readonly tasksQueueUrl: string }): WebhookTasks {
  return sqsWebhookTasks(new SQSClient(CLIENT), tasksQueueUrl);
}

/** The secrets of endpoints. The root keys are read from Secrets Manager on demand. */
export function configuredSecrets({ rootSecretId }: { readonly rootSecretId: string }, clock: Clock): WebhookSecrets {
  const roots = new ActiveSecrets(new SecretsManagerClient(CLIENT), clock);
  return webhookSecrets(() => roots.active(rootSecretId));
}
