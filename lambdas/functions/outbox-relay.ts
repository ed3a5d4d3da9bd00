import type { DynamoDBBatchResponse, DynamoDBStreamEvent } from 'aws-lambda';
import { relayTelemetry } from '../events/http/event-telemetry.ts';
import { readRelayConfig } from '../events/settings.ts';
import { EventBridgePublisher, eventBridgeClient } from '../events/store/eventbridge-publisher.ts';
import { configuredParking } from '../events/store/sqs-parking.ts';
import { readStreamRecord } from '../events/store/stream-records.ts';
import type { PublishOutcome } from '../events/use/event-publisher.ts';
import { relayTransitions } from '../events/use/relay-transitions.ts';
import { documentClient } from '../kernel/platform/document-client.ts';
import { systemClock, systemDigest, systemEntropy } from '../kernel/platform/platform.ts';
import { idempotently } from '../once/idempotently.ts';
import { ProcessRecords } from '../once/process-records.ts';
import { LedgerChains } from '../orders/store/ledger-chains.ts';

const config = readRelayConfig(process.env);
const pacing = { clock: systemClock, entropy: systemEntropy };
const telemetry = relayTelemetry('outbox-relay', () => systemClock.nowMs());
const tools = {
  transitions: new LedgerChains(documentClient(), config.tables, pacing),
  publisher: new EventBridgePublisher(eventBridgeClient(), config.eventBus),
  parking: configuredParking(config.parkingQueueUrl),
  relayed: new ProcessRecords<PublishOutcome>(),
  digest: systemDigest,
  report: (error: unknown) => telemetry.fault('outbox-relay', error),
  ...pacing,
};

/** Publishes the records of the Ledger's Stream. The Stream delivers again from the first record that could not be processed. */
export const handler = idempotently(
  { unit: 'a record of the Stream', record: 'what the bus has acknowledged in this process' },
  (runner) =>
    async ({ Records }: DynamoDBStreamEvent): Promise<DynamoDBBatchResponse> => {
      const relayed = await relayTransitions({ ...tools, runner }, Records.map(readStreamRecord));
      telemetry.batch(relayed);
      const { againFrom } = relayed;
      return { batchItemFailures: againFrom === undefined ? [] : [{ itemIdentifier: againFrom }] };
    },
);
