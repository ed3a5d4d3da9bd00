import { ALL_EVENTS } from '../events/contract.ts';
import { createEventHandler } from '../events/http/event-handler.ts';
import { consumerTelemetry } from '../events/http/event-telemetry.ts';
import { configuredParking } from '../events/store/sqs-parking.ts';
import { queues } from '../kernel/platform/sqs.ts';
import { type Platform, type Queues, systemPlatform } from '../kernel/platform/system-platform.ts';
import { idempotently } from '../once/idempotently.ts';
import type { OperationRunner } from '../once/use/operation-runner.ts';
import { Projector } from '../views/http/projector.ts';
import { readProjectorConfig } from '../views/settings.ts';
import { DynamoDbViews } from '../views/store/dynamodb-views.ts';

export const handler = idempotently(
  { unit: 'an event', record: 'the row that marks the event as processed' },
  (runner) => wire({ ...systemPlatform(), ...queues }, runner),
);

export function wire(platform: Platform & Queues, runner: OperationRunner) {
  const { documents, clock, entropy } = platform;
  const config = readProjectorConfig(platform.variables);
  const pacing = { clock, entropy };
  const telemetry = consumerTelemetry('views-projector', platform);
  const projector = new Projector({
    views: new DynamoDbViews(documents, config.viewsTable, pacing),
    runner,
    report: (error: unknown) => telemetry.fault('views-projector', error),
    ...pacing,
  });
  return createEventHandler(
    { events: ALL_EVENTS, handler: 'views', handle: projector },
    {
      consume: async ({ handle }, event) => ({
        kind: (await handle.take(event)) === 'projected' ? 'done' : 'done_before',
      }),
      parking: configuredParking(platform, config.parkingQueueUrl),
      telemetry,
    },
  );
}
