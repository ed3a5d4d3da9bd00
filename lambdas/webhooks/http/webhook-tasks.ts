import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import * as z from 'zod';
import {
  afterFailure,
  eachMessage,
  type FailedMessageState,
  type RemainingTime,
} from '../../events/http/message-batch.ts';
import type { MessageParking } from '../../events/use/ledger-stream.ts';
import { LONGEST_MESSAGE_SECONDS } from '../../kernel/contract/timing.ts';
import type { Telemetry } from '../../kernel/platform/telemetry.ts';
import { type PageOutcome, type ReplayTools, replayPage } from '../use/replay-webhooks.ts';
import { type InFlight, type SendOutcome, sendWebhook } from '../use/send-webhook.ts';
import { type LaneTools, runLane } from '../use/webhook-lanes.ts';
import type { WebhookTask } from '../use/webhooks.ts';

const taskMessage = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('attempt'), endpointId: z.string(), deliveryId: z.string() }),
  z.strictObject({ kind: z.literal('replay'), replayId: z.string() }),
  z.strictObject({ kind: z.literal('lane'), endpointId: z.string() }),
]);

/** @throws ZodError, SyntaxError when the message is malformed */
function parseWebhookTask(body: string): WebhookTask {
  return taskMessage.parse(JSON.parse(body));
}

export interface TaskTools extends LaneTools, Pick<ReplayTools, 'pastEvents'> {
  readonly telemetry: Pick<Telemetry, 'run' | 'fault'>;
  /** Parks a message after the last failed attempt to process it. */
  readonly parking: MessageParking;
}

/**
 * Runs the tasks of a batch concurrently, so that a slow receiver does not delay the others. Only failed tasks are
 * redelivered, until their messages are parked.
 */
export async function runWebhookTasks(
  tools: TaskTools,
  { Records }: SQSEvent,
  context?: RemainingTime,
): Promise<SQSBatchResponse> {
  const { telemetry, parking } = tools;
  const inFlight: InFlight = new Map();
  const results = await eachMessage<TaskResult>(Records, {
    handle: async (record) => {
      try {
        return { outcomes: await run(tools, record.body, inFlight) };
      } catch (error) {
        telemetry.fault(record.messageId, error);
        return { outcomes: ['error'], state: await afterFailure(parking, record, error) };
      }
    },
    staysInQueue: ({ state }) => state === 'waits',
    notHandled: { outcomes: [], state: 'waits' },
    neededMs: LONGEST_MESSAGE_SECONDS.webhookTask * 1000,
    context,
    parking,
  });
  const outcomes = results.flatMap(({ result }) => result.outcomes);
  const times = (...named: readonly Outcome[]): number => outcomes.filter((each) => named.includes(each)).length;
  const counts = {
    webhook_delivered: times('delivered', 'delivered_late'),
    webhook_attempt_failed: times('failed', 'failed_late'),
    webhook_dropped: times('dropped'),
    webhook_endpoint_disabled: times('disabled'),
  };
  telemetry.run('send webhooks', counts, { messages: Records.length, failed: times('error'), ...counts });
  const failed = results.filter(({ result }) => result.state === 'waits');
  return { batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) };
}

/** `error`: Payonce could not run the task. */
type Outcome = SendOutcome | PageOutcome | 'error';

interface TaskResult {
  readonly outcomes: readonly Outcome[];
  readonly state?: FailedMessageState;
}

async function run(tools: TaskTools, body: string, inFlight: InFlight): Promise<readonly Outcome[]> {
  const task = parseWebhookTask(body);
  switch (task.kind) {
    case 'attempt':
      return [await sendWebhook(tools, task.endpointId, task.deliveryId, inFlight)];
    case 'replay':
      return [await replayPage(tools, task.replayId)];
    case 'lane':
      return runLane(tools, task.endpointId);
  }
}
