import { SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { ActiveSecrets } from '../../kernel/platform/active-secrets.ts';
import type { Secrets } from '../../kernel/platform/secrets-manager.ts';
import type { Queues } from '../../kernel/platform/system-platform.ts';
import type { Clock } from '../../kernel/world.ts';
import type { WebhookSecrets, WebhookTasks } from '../use/webhooks.ts';
import { webhookSecrets } from './webhook-secrets.ts';

/**
 * Maximum number of concurrent calls to SQS: enough for the sweep to finish in time, and not too many for one process.
 */
const MOST_AT_ONCE = 10;

interface QueueUrls {
  readonly tasksQueueUrl: string;
  readonly lanesQueueUrl: string;
}

export function configuredTasks({ sqs }: Queues, urls: QueueUrls): WebhookTasks {
  return sqsWebhookTasks(sqs(), urls);
}

/**
 * Creates task queues that send one message per request, because a request with several messages can fail for some of
 * them. The sweep enqueues lost tasks again.
 */
function sqsWebhookTasks(client: SQSClient, { tasksQueueUrl, lanesQueueUrl }: QueueUrls): WebhookTasks {
  return {
    enqueue: async (tasks, delaySeconds) => {
      for (let from = 0; from < tasks.length; from += MOST_AT_ONCE) {
        await Promise.all(
          tasks.slice(from, from + MOST_AT_ONCE).map(({ task, group }) =>
            client.send(
              new SendMessageCommand({
                QueueUrl: task.kind === 'attempt' ? tasksQueueUrl : lanesQueueUrl,
                MessageBody: JSON.stringify(task),
                MessageGroupId: group,
                DelaySeconds: delaySeconds,
              }),
            ),
          ),
        );
      }
    },
  };
}

/** The root keys are read from Secrets Manager on demand. */
export async function configuredSecrets(
  { secretsManager, clock }: Secrets & { readonly clock: Clock },
  { rootSecretId }: { readonly rootSecretId: string },
): Promise<WebhookSecrets> {
  const roots = new ActiveSecrets(await secretsManager(), clock);
  return webhookSecrets(() => roots.active(rootSecretId));
}
