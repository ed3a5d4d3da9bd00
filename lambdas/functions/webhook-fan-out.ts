import { PUBLIC_EVENTS } from '../events/contract.ts';
import { createEventHandler } from '../events/http/event-handler.ts';
import { consumerTelemetry } from '../events/http/event-telemetry.ts';
import { readConsumerConfig } from '../events/settings.ts';
import { configuredParking } from '../events/store/sqs-parking.ts';
import { documentClient } from '../kernel/platform/document-client.ts';
import { systemClock, systemDigest, systemEntropy } from '../kernel/platform/platform.ts';
import { idempotently } from '../once/idempotently.ts';
import { readWebhookConfig } from '../webhooks/settings.ts';
import { DynamoDbWebhooks } from '../webhooks/store/dynamodb-webhooks.ts';
import { configuredTasks } from '../webhooks/transport/webhook-clients.ts';
import { fanOut } from '../webhooks/use/fan-out-webhooks.ts';

const { parkingQueueUrl } = readConsumerConfig(process.env);
const config = readWebhookConfig(process.env);
const pacing = { clock: systemClock, entropy: systemEntropy };
const telemetry = consumerTelemetry('webhook-fan-out', () => systemClock.nowMs());
const tools = {
  webhooks: new DynamoDbWebhooks(documentClient(), config.tables, pacing),
  tasks: configuredTasks(config),
  digest: systemDigest,
  report: (error: unknown) => telemetry.fault('enqueue webhooks', error),
  ...pacing,
};

/** Makes the deliveries of events. One write contains the record, the deliveries and their entries in the due queue. */
export const handler = idempotently({ unit: 'an event', record: 'its record, written with the deliveries' }, (runner) =>
  createEventHandler(
    { events: PUBLIC_EVENTS, handler: 'merchant-webhooks', handle: fanOut },
    {
      consume: async ({ handle }, event) => ({
        kind: (await handle({ ...tools, runner }, event)) === 'before' ? 'done_before' : 'done',
      }),
      parking: configuredParking(parkingQueueUrl),
      telemetry,
    },
  ),
);
