import { ALL_EVENTS } from '../events/contract.ts';
import { createEventHandler } from '../events/http/event-handler.ts';
import { consumerTelemetry } from '../events/http/event-telemetry.ts';
import { configuredParking } from '../events/store/sqs-parking.ts';
import { documentClient } from '../kernel/platform/document-client.ts';
import { systemClock, systemEntropy } from '../kernel/platform/platform.ts';
import { idempotently } from '../once/idempotently.ts';
import { Projector } from '../views/http/projector.ts';
import { readProjectorConfig } from '../views/settings.ts';
import { DynamoDbViews } from '../views/store/dynamodb-views.ts';

const config = readProjectorConfig(process.env);
const pacing = { clock: systemClock, entropy: systemEntropy };
const telemetry = consumerTelemetry('views-projector', () => systemClock.nowMs());
const tools = {
  views: new DynamoDbViews(documentClient(), config.viewsTable, pacing),
  report: (error: unknown) => telemetry.fault('views-projector', error),
  ...pacing,
};

export const handler = idempotently(
  { unit: 'an event', record: 'the row that says that it was seen (decision 0020)' },
  (runner) =>
    createEventHandler(
      { events: ALL_EVENTS, handler: 'views', handle: new Projector({ ...tools, runner }) },
      {
        consume: async ({ handle }, event) => ({
          kind: (await handle.take(event)) === 'projected' ? 'done' : 'done_before',
        }),
        parking: configuredParking(config.parkingQueueUrl),
        telemetry,
      },
    ),
);
