import { SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { WebhookTasks } from '../use/webhooks.ts';

/** Calls under way at once: enough for the sweep to get through, few enough for one process. */
const MOST_AT_ONCE = 10;

/** A message a call, so that none fails in part: what did not get through is swept. */
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
