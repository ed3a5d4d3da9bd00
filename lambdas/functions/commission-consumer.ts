import { createEventHandler } from '../events/http/event-handler.ts';
import { consumerTelemetry } from '../events/http/event-telemetry.ts';
import { readConsumerConfig } from '../events/settings.ts';
import { configuredParking } from '../events/store/sqs-parking.ts';
import { COMMISSION_EVENTS } from '../follow-ups/contract.ts';
import { COMMISSIONS, keepCommission } from '../follow-ups/keep-commission.ts';
import { queues } from '../kernel/platform/sqs.ts';
import { type Platform, type Queues, systemPlatform } from '../kernel/platform/system-platform.ts';
import { idempotently } from '../once/idempotently.ts';
import { DynamoDbConsumerRecords } from '../once/store/dynamodb-consumer-records.ts';
import type { OperationRunner } from '../once/use/operation-runner.ts';

export const handler = idempotently(
  { unit: 'a change of a commission', record: 'the record of the change, written with the commission' },
  (runner) => wire({ ...systemPlatform(), ...queues }, runner),
);

export function wire(platform: Platform & Queues, runner: OperationRunner) {
  const { documents, clock, entropy, retention, digest } = platform;
  const { tables, parkingQueueUrl } = readConsumerConfig(platform.variables);
  const pacing = { clock, entropy, retention };
  const tools = { records: new DynamoDbConsumerRecords(documents, tables, pacing), runner, digest, ...pacing };
  return createEventHandler(
    { events: COMMISSION_EVENTS, handler: COMMISSIONS, handle: keepCommission },
    {
      consume: ({ handle }, event) => handle(tools, event),
      parking: configuredParking(platform, parkingQueueUrl),
      telemetry: consumerTelemetry('commission-consumer', platform),
    },
  );
}
