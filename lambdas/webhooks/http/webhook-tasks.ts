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

/** @throws when it is none: the queue sets it aside */
function parseWebhookTask(body: string): WebhookTask {
  return taskMessage.parse(JSON.parse(body));
}

export interface TaskTools extends SendTools, Pick<ReplayTools, 'pastEvents'> {
  readonly telemetry: Pick<Telemetry, 'run' | 'fault'>;
}

/**
 * Does the tasks of a batch, all at once, because a receiver that is slow must not hold up the others. A task that fails comes
 * again, alone; what is no task at all comes until the queue sets it aside.
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
