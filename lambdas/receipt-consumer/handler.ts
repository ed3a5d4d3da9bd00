import { documentClient } from '../adapters/dynamodb/document-client.ts';
import { DynamoDbConsumerRecords } from '../adapters/dynamodb/dynamodb-consumer-records.ts';
import { idempotentRunner } from '../adapters/powertools/idempotent-runner.ts';
import { configuredParking } from '../adapters/sqs/sqs-parking.ts';
import { systemClock, systemDigest, systemEntropy } from '../adapters/system/platform.ts';
import { configuredParties } from '../adapters/vendors/configured-parties.ts';
import { RECEIPTS, sendReceipt } from '../app/send-receipt.ts';
import { readConsumerConfig } from '../runtime/consumer-config.ts';
import { createEventHandler } from '../runtime/event-handler.ts';
import { consumerTelemetry, unsentLetters } from '../runtime/event-telemetry.ts';
import { outboundTelemetry } from '../runtime/outbound-telemetry.ts';
import { readPartiesConfig } from '../runtime/parties-config.ts';

const { tables, parkingQueueUrl } = readConsumerConfig(process.env);
const parties = readPartiesConfig(process.env);
if (parties === undefined) throw new Error('receipts need a mailer: none is set in the environment');
const client = documentClient();
const pacing = { clock: systemClock, entropy: systemEntropy };
const tools = {
  ...(await configuredParties(parties, { client, observer: outboundTelemetry(), ...pacing })),
  records: new DynamoDbConsumerRecords(client, tables, pacing),
  runner: idempotentRunner,
  digest: systemDigest,
  unsent: unsentLetters('receipt-consumer'),
  ...pacing,
};

export const handler = createEventHandler(
  { event: 'payment.completed', handler: RECEIPTS, handle: sendReceipt },
  {
    consume: ({ handle }, event) => handle(tools, event),
    parking: configuredParking(parkingQueueUrl),
    telemetry: consumerTelemetry('receipt-consumer', () => systemClock.nowMs()),
  },
);
