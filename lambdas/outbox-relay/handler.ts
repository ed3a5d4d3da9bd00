import type { DynamoDBBatchResponse, DynamoDBStreamEvent } from 'aws-lambda';
import { documentClient } from '../adapters/dynamodb/document-client.ts';
import { LedgerTransitions } from '../adapters/dynamodb/ledger-transitions.ts';
import { readStreamRecord } from '../adapters/dynamodb/stream-records.ts';
import { EventBridgePublisher, eventBridgeClient } from '../adapters/eventbridge/eventbridge-publisher.ts';
import { configuredParking } from '../adapters/sqs/sqs-parking.ts';
import { systemClock, systemDigest, systemEntropy } from '../adapters/system/platform.ts';
import { relayTransitions } from '../app/relay-transitions.ts';
import { readRelayConfig } from '../runtime/consumer-config.ts';
import { relayTelemetry } from '../runtime/event-telemetry.ts';

const config = readRelayConfig(process.env);
const pacing = { clock: systemClock, entropy: systemEntropy };
const telemetry = relayTelemetry('outbox-relay', () => systemClock.nowMs());
const tools = {
  transitions: new LedgerTransitions(documentClient(), config.ledgerTable, pacing),
  publisher: new EventBridgePublisher(eventBridgeClient(), config.eventBus),
  parking: configuredParking(config.parkingQueueUrl),
  digest: systemDigest,
  report: (error: unknown) => telemetry.fault('outbox-relay', error),
  ...pacing,
};

/** Puts what the Ledger's Stream brings on the bus; the Stream begins again at what could not be dealt with. */
export async function handler({ Records }: DynamoDBStreamEvent): Promise<DynamoDBBatchResponse> {
  const relayed = await relayTransitions(tools, Records.map(readStreamRecord));
  telemetry.batch(relayed);
  const { againFrom } = relayed;
  return { batchItemFailures: againFrom === undefined ? [] : [{ itemIdentifier: againFrom }] };
}
