import { documentClient } from '../adapters/dynamodb/document-client.ts';
import { DynamoDbViews } from '../adapters/dynamodb/dynamodb-views.ts';
import { configuredParking } from '../adapters/sqs/sqs-parking.ts';
import { systemClock, systemEntropy } from '../adapters/system/platform.ts';
import { createEventHandler } from '../runtime/event-handler.ts';
import { consumerTelemetry } from '../runtime/event-telemetry.ts';
import { readProjectorConfig } from '../runtime/views-config.ts';
import { Projector } from './projector.ts';

const config = readProjectorConfig(process.env);
const pacing = { clock: systemClock, entropy: systemEntropy };
const telemetry = consumerTelemetry('views-projector', () => systemClock.nowMs());
const parking = configuredParking(config.parkingQueueUrl);
const projector = new Projector({
  views: new DynamoDbViews(documentClient(), config.viewsTable, pacing),
  report: (error) => telemetry.fault('views-projector', error),
  ...pacing,
});

/** Its rows are the same however often they are written, so there is no record of what it has taken in (decision 0020). */
export const handler = createEventHandler(
  { event: '*', handler: 'views', handle: projector },
  {
    consume: async (_consumer, event) => {
      await projector.take(event);
      return { kind: 'done' };
    },
    parking,
    telemetry,
  },
);
