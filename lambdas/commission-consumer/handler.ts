import { documentClient } from '../adapters/dynamodb/document-client.ts';
import { DynamoDbConsumerRecords } from '../adapters/dynamodb/dynamodb-consumer-records.ts';
import { idempotentRunner } from '../adapters/powertools/idempotent-runner.ts';
import { configuredParking } from '../adapters/sqs/sqs-parking.ts';
import { systemClock, systemDigest, systemEntropy } from '../adapters/system/platform.ts';
import { COMMISSIONS, keepCommission } from '../app/keep-commission.ts';
import { COMMISSION_EVENT_TYPES } from '../core/commission.ts';
import { readConsumerConfig } from '../runtime/consumer-config.ts';
import { createEventHandler } from '../runtime/event-handler.ts';
import { consumerTelemetry } from '../runtime/event-telemetry.ts';

const { tables, parkingQueueUrl } = readConsumerConfig(process.env);
const pacing = { clock: systemClock, entropy: systemEntropy };
const tools = {
  records: new DynamoDbConsumerRecords(documentClient(), tables, pacing),
  runner: idempotentRunner,
  digest: systemDigest,
  ...pacing,
};

export const handler = createEventHandler(
  { event: COMMISSION_EVENT_TYPES, handler: COMMISSIONS, handle: keepCommission },
  {
    consume: ({ handle }, event) => handle(tools, event),
    parking: configuredParking(parkingQueueUrl),
    telemetry: consumerTelemetry('commission-consumer', () => systemClock.nowMs()),
  },
);
