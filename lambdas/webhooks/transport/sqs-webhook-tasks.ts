import { SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { WebhookTasks } from '../use/webhooks.ts';

/** Concurrent calls: enough for the sweep to finish in time, few enough for one process. */
const MOST_AT_ONCE = 10;

/** One message per call, so that no batch fails in part. The sweep enqueues lost tasks again. */
export function sqsWebhookTasks(client: SQSClient, queueUrl: string): WebhookTasks {
  return {
    enqueue: async (tasks, delaySeconds) => {
      for (let from = 0; from < tasks.length; from += MOST_AT_ONCE) {
        await Promise.all(
          tasks.slice(from, from + MOST_AT_ONCE).map((each) =>
            client.send(
              new SendMessageCommand({
                QueueUrl: queueUrl,
                MessageBody: JSON.stringify(each),
                DelaySeconds: delaySeconds,
              }),
            ),
          ),
        );
      }
    },
  };
}
