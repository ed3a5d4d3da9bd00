import { PUBLIC_EVENTS } from '../events/contract.ts';
import { createEventHandler } from '../events/http/event-handler.ts';
import { consumerTelemetry } from '../events/http/event-telemetry.ts';
import { readConsumerConfig } from '../events/settings.ts';
import { configuredParking } from '../events/store/sqs-parking.ts';
import { queues } from '../kernel/platform/sqs.ts';
import { type Platform, type Queues, systemPlatform } from '../kernel/platform/system-platform.ts';
import { idempotently } from '../once/idempotently.ts';
import type { OperationRunner } from '../once/use/operation-runner.ts';
import { readWebhookConfig } from '../webhooks/settings.ts';
import { DynamoDbWebhooks } from '../webhooks/store/dynamodb-webhooks.ts';
import { configuredTasks } from '../webhooks/transport/webhook-clients.ts';
import { fanOut } from '../webhooks/use/fan-out-webhooks.ts';

/** The row of a delivery is also its entry in the due queue. */
export const handler = idempotently(
  { unit: 'an event', record: 'the rows of the deliveries, whose ids are derived from endpoint and event' },
  (runner) => wire({ ...systemPlatform(), ...queues }, runner),
);

export function wire(platform: Platform & Queues, runner: OperationRunner) {
  const { documents, clock, entropy, retention, digest } = platform;
  const { parkingQueueUrl } = readConsumerConfig(platform.variables);
  const config = readWebhookConfig(platform.variables);
  const pacing = { clock, entropy, retention };
  const telemetry = consumerTelemetry('webhook-fan-out', platform);
  const tools = {
    webhooks: new DynamoDbWebhooks(documents, config.tables, pacing),
    tasks: configuredTasks(platform, config),
    runner,
    digest,
    report: (error: unknown) => telemetry.fault('enqueue webhooks', error),
    ...pacing,
  };
  return createEventHandler(
    { events: PUBLIC_EVENTS, handler: 'merchant-webhooks', handle: fanOut },
    {
      consume: async ({ handle }, event) => ({
        kind: (await handle(tools, event)) === 'before' ? 'done_before' : 'done',
      }),
      parking: configuredParking(platform, parkingQueueUrl),
      telemetry,
    },
  );
}
