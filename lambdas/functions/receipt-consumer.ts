import { configuredAuthority } from '../authority/configured-authority.ts';
import { createEventHandler } from '../events/http/event-handler.ts';
import { consumerTelemetry, reportUnsentReceipt } from '../events/http/event-telemetry.ts';
import { readReceiptConfig } from '../events/settings.ts';
import { configuredParking } from '../events/store/sqs-parking.ts';
import { RECEIPT_EVENTS } from '../follow-ups/contract.ts';
import { RECEIPTS, sendReceipt } from '../follow-ups/send-receipt.ts';
import { secrets } from '../kernel/platform/secrets-manager.ts';
import { queues } from '../kernel/platform/sqs.ts';
import { type Platform, systemPlatform } from '../kernel/platform/system-platform.ts';
import { idempotently } from '../once/idempotently.ts';
import { DynamoDbConsumerRecords } from '../once/store/dynamodb-consumer-records.ts';
import type { OperationRunner } from '../once/use/operation-runner.ts';
import { configuredParties, type PartiesTools } from '../orders/parties/configured-parties.ts';
import { readPartiesConfig } from '../orders/parties/settings.ts';
import { callOnce } from '../outbound/http-call.ts';
import { DynamoDbStore } from '../payments/store/dynamodb-store.ts';

export const handler = await idempotently(
  { unit: 'the receipt of a payment', record: 'the claim of the receipt, completed after the e-mail was sent' },
  (runner) => wire({ ...systemPlatform(), ...queues, ...secrets, send: callOnce }, runner),
);

export async function wire(platform: Platform & PartiesTools, runner: OperationRunner) {
  const { documents, clock, entropy, retention, digest, instruments } = platform;
  const { tables, parkingQueueUrl } = readReceiptConfig(platform.variables);
  const parties = readPartiesConfig(platform.variables);
  if (parties === undefined) throw new Error('receipts need the settings of a mailer: the environment has none');
  const pacing = { clock, entropy, retention };
  const { client, postgres } = await configuredAuthority(platform, tables);
  const tools = {
    ...(await configuredParties(parties, platform)),
    records: new DynamoDbConsumerRecords(documents, tables, pacing),
    payments: postgres?.store ?? new DynamoDbStore(client, tables, pacing),
    runner,
    digest,
    unsent: reportUnsentReceipt('receipt-consumer', instruments),
    ...pacing,
  };
  return createEventHandler(
    { events: RECEIPT_EVENTS, handler: RECEIPTS, handle: sendReceipt },
    {
      consume: ({ handle }, event) => handle(tools, event),
      parking: configuredParking(platform, parkingQueueUrl),
      telemetry: consumerTelemetry('receipt-consumer', platform),
    },
  );
}
