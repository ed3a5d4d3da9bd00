import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import * as z from 'zod';
import type { Telemetry } from '../../kernel/platform/telemetry.ts';
import { type ReplayTools, replayPage } from '../use/replay-webhooks.ts';
import { type SendTools, sendWebhook } from '../use/send-webhook.ts';
import type { WebhookTask } from '../use/webhooks.ts';

const taskMessage = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('attempt'), endpointId: z.string(), deliveryId: z.string() }),
  z.strictObject({ kind: z.literal('replay'), replayId: z.string() }),
]);

/** @throws ZodError, SyntaxError when the message is malformed: after its redeliveries SQS moves it to the dead-letter queue */
function parseWebhookTask(body: string): WebhookTask {
  return taskMessage.parse(JSON.parse(body));
}

export interface TaskTools extends SendTools, Pick<ReplayTools, 'pastEvents'> {
  readonly telemetry: Pick<Telemetry, 'run' | 'fault'>;
}

/**
 * Runs the tasks of a batch concurrently, so that a slow receiver does not delay the others. A failed task is redelivered
 * alone. A malformed message is redelivered until SQS moves it to the dead-letter queue.
 */
export async function runWebhookTasks(tools: TaskTools, { Records }: SQSEvent): Promise<SQSBatchResponse> {
  const { telemetry } = tools;
  const came = await Promise.all(
    Records.map(async ({ messageId, body }) => {
      try {
        return { messageId, outcome: await run(tools, body) };
      } catch (error) {
        telemetry.fault(messageId, error);
        return { messageId, outcome: 'failed' as const };
      }
    }),
  );
  const times = (outcome: (typeof came)[number]['outcome']): number =>
    came.filter((each) => each.outcome === outcome).length;
  const counts = {
    webhook_delivered: times('delivered'),
    webhook_tried_in_vain: times('tried_in_vain'),
    webhook_dropped: times('dropped'),
    webhook_endpoint_disabled: times('disabled'),
  };
  telemetry.run('send webhooks', counts, { messages: Records.length, failed: times('failed'), ...counts });
  const failed = came.filter(({ outcome }) => outcome === 'failed');
  return { batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) };
}

async function run(tools: TaskTools, body: string) {
  const task = parseWebhookTask(body);
  return task.kind === 'attempt'
    ? sendWebhook(tools, task.endpointId, task.deliveryId)
    : replayPage(tools, task.replayId);
}
