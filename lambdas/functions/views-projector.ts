import { createEventHandler } from '../events/http/event-handler.ts';
import { consumerTelemetry } from '../events/http/event-telemetry.ts';
import { configuredParking } from '../events/store/sqs-parking.ts';
import { documentClient } from '../kernel/platform/document-client.ts';
import { systemClock, systemEntropy } from '../kernel/platform/platform.ts';
import { Projector } from '../views/http/projector.ts';
import { readProjectorConfig } from '../views/settings.ts';
import { DynamoDbViews } from '../views/store/dynamodb-views.ts';

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
