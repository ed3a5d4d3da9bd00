import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SQSClient } from '@aws-sdk/client-sqs';
import { ActiveSecrets } from '../../kernel/platform/active-secrets.ts';
import type { Clock } from '../../kernel/world.ts';
import type { WebhookSecrets, WebhookTasks } from '../use/webhooks.ts';
import { sqsWebhookTasks } from './sqs-webhook-tasks.ts';
import { webhookSecrets } from './webhook-secrets.ts';

/** Retries are off: what is due is swept, and what is asked for is asked for again. */
const CLIENT = {
  maxAttempts: 1,
  requestHandler: { requestTimeout: 2_000, throwOnRequestTimeout: true, connectionTimeout: 1_000 },
};

/** The queue of what is to be sent, as a function was deployed with it. */
export function configuredTasks({ tasksQueueUrl }: { readonly tasksQueueUrl: string }): WebhookTasks {
  return sqsWebhookTasks(new SQSClient(CLIENT), tasksQueueUrl);
}

/** The secrets of endpoints; the root keys are read from Secrets Manager when they are needed. */
export function configuredSecrets({ rootSecretId }: { readonly rootSecretId: string }, clock: Clock): WebhookSecrets {
  const roots = new ActiveSecrets(new SecretsManagerClient(CLIENT), clock);
  return webhookSecrets(() => roots.active(rootSecretId));
}
