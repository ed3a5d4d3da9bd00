import type { DynamoDBBatchResponse } from 'aws-lambda';
import { RELAY_MAX_WAIT_SECONDS } from '../events/contract.ts';
import { relayTelemetry } from '../events/http/event-telemetry.ts';
import { readRelayConfig } from '../events/settings.ts';
import { EventBridgePublisher, eventBridgeClient } from '../events/store/eventbridge-publisher.ts';
import { configuredParking } from '../events/store/sqs-parking.ts';
import { readStreamRecord } from '../events/store/stream-records.ts';
import type { Accepted, RelayAlarm } from '../events/use/relay-transitions.ts';
import { type RelayAttempt, relayWithRetries } from '../events/use/relay-with-retries.ts';
import { DynamoDbJobMarks } from '../jobs/store/dynamodb-job-marks.ts';
import { ALARM_RUN } from '../kernel/contract/metrics.ts';
import { queues } from '../kernel/platform/sqs.ts';
import { type Bus, type Platform, type Queues, systemPlatform } from '../kernel/platform/system-platform.ts';
import { idempotently } from '../once/idempotently.ts';
import { ProcessRecords } from '../once/process-records.ts';
import type { OperationRunner } from '../once/use/operation-runner.ts';
import { LedgerChains } from '../orders/store/ledger-chains.ts';

/** If a record still fails after the retries of this function, Lambda redelivers the batch from that record on. */
export const handler = idempotently(
  {
    unit: 'a record of the Stream',
    record: 'the acknowledgement from the event bus, kept in the memory of this process',
  },
  (runner) => wire({ ...systemPlatform(), ...queues, eventBridge: eventBridgeClient }, runner),
);

export function wire(platform: Platform & Queues & Bus, runner: OperationRunner) {
  const { documents, clock, entropy, digest } = platform;
  const config = readRelayConfig(platform.variables);
  const pacing = { clock, entropy };
  const telemetry = relayTelemetry('outbox-relay', platform);
  const tools = {
    transitions: new LedgerChains(documents, config.tables, pacing),
    publisher: new EventBridgePublisher(platform.eventBridge(), config.eventBus),
    parking: configuredParking(platform, config.parkingQueueUrl),
    relayed: new ProcessRecords<Accepted>(),
    alarmed: new ProcessRecords<true>(),
    alarm: (what: RelayAlarm, about: string) => telemetry.run(ALARM_RUN, { [what]: 1 }, { [what]: about }),
    runner,
    digest,
    report: (error: unknown) => telemetry.fault('outbox-relay', error),
    marks: new DynamoDbJobMarks(documents, config.tables.registry, pacing),
    onAttempt: (attempt: RelayAttempt) => telemetry.batch(attempt),
    ...pacing,
  };
  return async ({ Records }: { readonly Records: readonly unknown[] }): Promise<DynamoDBBatchResponse> => {
    const deadlineMs = clock.nowMs() + RELAY_MAX_WAIT_SECONDS * 1_000;
    const redeliverFrom = await relayWithRetries(tools, Records.map(readStreamRecord), deadlineMs);
    return { batchItemFailures: redeliverFrom === undefined ? [] : [{ itemIdentifier: redeliverFrom }] };
  };
}
