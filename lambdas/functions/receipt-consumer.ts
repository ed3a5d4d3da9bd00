import { createEventHandler } from '../events/http/event-handler.ts';
import { consumerTelemetry, unsentLetters } from '../events/http/event-telemetry.ts';
import { readConsumerConfig } from '../events/settings.ts';
import { configuredParking } from '../events/store/sqs-parking.ts';
import { RECEIPT_EVENTS } from '../follow-ups/contract.ts';
import { RECEIPTS, sendReceipt } from '../follow-ups/send-receipt.ts';
import { documentClient } from '../kernel/platform/document-client.ts';
import { systemClock, systemDigest, systemEntropy } from '../kernel/platform/platform.ts';
import { idempotently } from '../once/idempotently.ts';
import { DynamoDbConsumerRecords } from '../once/store/dynamodb-consumer-records.ts';
import { configuredParties } from '../orders/parties/configured-parties.ts';
import { readPartiesConfig } from '../orders/parties/settings.ts';
import { outboundTelemetry } from '../outbound/outbound-telemetry.ts';

const { tables, parkingQueueUrl } = readConsumerConfig(process.env);
const parties = readPartiesConfig(process.env);
if (parties === undefined) throw new Error('receipts need the settings of a mailer: the environment has none');
const client = documentClient();
const pacing = { clock: systemClock, entropy: systemEntropy };
const tools = {
  ...(await configuredParties(parties, { client, observer: outboundTelemetry(), ...pacing })),
  records: new DynamoDbConsumerRecords(client, tables, pacing),
  digest: systemDigest,
  unsent: unsentLetters('receipt-consumer'),
  ...pacing,
};

export const handler = idempotently(
  { unit: 'the receipt of a payment', record: 'its claim, completed once the e-mail is sent' },
  (runner) =>
    createEventHandler(
      { events: RECEIPT_EVENTS, handler: RECEIPTS, handle: sendReceipt },
      {
        consume: ({ handle }, event) => handle({ ...tools, runner }, event),
        parking: configuredParking(parkingQueueUrl),
        telemetry: consumerTelemetry('receipt-consumer', () => systemClock.nowMs()),
      },
    ),
);
