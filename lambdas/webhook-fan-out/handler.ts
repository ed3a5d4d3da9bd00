import { documentClient } from '../adapters/dynamodb/document-client.ts';
import { DynamoDbWebhooks } from '../adapters/dynamodb/dynamodb-webhooks.ts';
import { idempotentRunner } from '../adapters/powertools/idempotent-runner.ts';
import { configuredParking } from '../adapters/sqs/sqs-parking.ts';
import { systemClock, systemDigest, systemEntropy } from '../adapters/system/platform.ts';
import { configuredTasks } from '../adapters/webhooks/webhook-clients.ts';
import { fanOut } from '../app/fan-out-webhooks.ts';
import { PUBLIC_EVENT_TYPES } from '../core/event.ts';
import { readConsumerConfig } from '../runtime/consumer-config.ts';
import { createEventHandler } from '../runtime/event-handler.ts';
import { consumerTelemetry } from '../runtime/event-telemetry.ts';
import { readWebhookConfig } from '../runtime/webhook-config.ts';

const { parkingQueueUrl } = readConsumerConfig(process.env);
const config = readWebhookConfig(process.env);
const pacing = { clock: systemClock, entropy: systemEntropy };
const telemetry = consumerTelemetry('webhook-fan-out', () => systemClock.nowMs());
const tools = {
  webhooks: new DynamoDbWebhooks(documentClient(), config.tables, pacing),
  tasks: configuredTasks(config),
  runner: idempotentRunner,
  digest: systemDigest,
  report: (error: unknown) => telemetry.fault('enqueue webhooks', error),
  ...pacing,
};

/** Makes deliveries of events. Record and deliveries are one write of the use case's own: rows and their places in the due queue. */
export const handler = createEventHandler(
  { event: PUBLIC_EVENT_TYPES, handler: 'merchant-webhooks', handle: fanOut },
  {
    consume: async ({ handle }, event) => ({
      kind: (await handle(tools, event)) === 'before' ? 'done_before' : 'done',
    }),
    parking: configuredParking(parkingQueueUrl),
    telemetry,
  },
);
