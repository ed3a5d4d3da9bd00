import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import * as z from 'zod';
import type { Telemetry } from '../../kernel/platform/telemetry.ts';
import { type PageOutcome, type ReplayTools, replayPage } from '../use/replay-webhooks.ts';
import { type SendOutcome, sendWebhook } from '../use/send-webhook.ts';
import { type LaneTools, runLane } from '../use/webhook-lanes.ts';
import type { WebhookTask } from '../use/webhooks.ts';

const taskMessage = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('attempt'), endpointId: z.string(), deliveryId: z.string() }),
  z.strictObject({ kind: z.literal('replay'), replayId: z.string() }),
  z.strictObject({ kind: z.literal('lane'), endpointId: z.string() }),
]);

/** @throws ZodError, SyntaxError when the message is malformed: after its redeliveries SQS moves it to the dead-letter queue */
function parseWebhookTask(body: string): WebhookTask {
  return taskMessage.parse(JSON.parse(body));
}

export interface TaskTools extends LaneTools, Pick<ReplayTools, 'pastEvents'> {
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
        return { messageId, outcomes: await run(tools, body) };
      } catch (error) {
        telemetry.fault(messageId, error);
        return { messageId, outcomes: FAILED };
      }
    }),
  );
  const ended = came.flatMap(({ outcomes }) => outcomes);
  const times = (...named: readonly Outcome[]): number => ended.filter((each) => named.includes(each)).length;
  const counts = {
    webhook_delivered: times('delivered', 'delivered_late'),
    webhook_tried_in_vain: times('tried_in_vain', 'hung'),
    webhook_dropped: times('dropped'),
    webhook_endpoint_disabled: times('disabled'),
  };
  telemetry.run('send webhooks', counts, { messages: Records.length, failed: times('failed'), ...counts });
  const failed = came.filter(({ outcomes }) => outcomes === FAILED);
  return { batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) };
}

type Outcome = SendOutcome | PageOutcome | 'failed';

const FAILED: readonly Outcome[] = ['failed'];

async function run(tools: TaskTools, body: string): Promise<readonly Outcome[]> {
  const task = parseWebhookTask(body);
  switch (task.kind) {
    case 'attempt':
      return [await sendWebhook(tools, task.endpointId, task.deliveryId)];
    case 'replay':
      return [await replayPage(tools, task.replayId)];
    case 'lane':
      return runLane(tools, task.endpointId);
  }
}
