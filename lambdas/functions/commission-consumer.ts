import { createEventHandler } from '../events/http/event-handler.ts';
import { consumerTelemetry } from '../events/http/event-telemetry.ts';
import { readConsumerConfig } from '../events/settings.ts';
import { configuredParking } from '../events/store/sqs-parking.ts';
import { COMMISSION_EVENTS } from '../follow-ups/contract.ts';
import { COMMISSIONS, keepCommission } from '../follow-ups/keep-commission.ts';
import { documentClient } from '../kernel/platform/document-client.ts';
import { systemClock, systemDigest, systemEntropy } from '../kernel/platform/platform.ts';
import { idempotently } from '../once/idempotently.ts';
import { DynamoDbConsumerRecords } from '../once/store/dynamodb-consumer-records.ts';

const { tables, parkingQueueUrl } = readConsumerConfig(process.env);
const pacing = { clock: systemClock, entropy: systemEntropy };
const tools = {
  records: new DynamoDbConsumerRecords(documentClient(), tables, pacing),
  digest: systemDigest,
  ...pacing,
};

export const handler = idempotently(
  { unit: 'a change of a commission', record: 'its record, written with the commission' },
  (runner) =>
    createEventHandler(
      { events: COMMISSION_EVENTS, handler: COMMISSIONS, handle: keepCommission },
      {
        consume: ({ handle }, event) => handle({ ...tools, runner }, event),
        parking: configuredParking(parkingQueueUrl),
        telemetry: consumerTelemetry('commission-consumer', () => systemClock.nowMs()),
      },
    ),
);
