import { randomUUID } from 'node:crypto';
import { SQSClient } from '@aws-sdk/client-sqs';
import { createEventHandler } from '../../lambdas/events/http/event-handler.ts';
import type { EventOf } from '../../lambdas/events/http/event-schemas.ts';
import { consumerTelemetry } from '../../lambdas/events/http/event-telemetry.ts';
import { readConsumerConfig } from '../../lambdas/events/settings.ts';
import { SqsParking } from '../../lambdas/events/store/sqs-parking.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { systemInstruments } from '../../lambdas/kernel/platform/instruments.ts';
import { systemClock, systemDigest, systemEntropy } from '../../lambdas/kernel/platform/platform.ts';
import { idempotently } from '../../lambdas/once/idempotently.ts';
import { DynamoDbConsumerRecords } from '../../lambdas/once/store/dynamodb-consumer-records.ts';
import { consumeEvent, inOwnTables } from '../../lambdas/once/use/consume-event.ts';
import { paymentPartition, RECEIPT_EVENTS, ReceiptRow } from '../contract.ts';
import { holdAcknowledgement, noteDeliveries } from './deliveries.ts';

const config = readConsumerConfig(process.env);
const receipts = config.tables.views;
invariant(receipts !== undefined, 'the environment variable of the receipts table is not set');
const client = documentClient();
const pacing = { clock: systemClock, entropy: systemEntropy };
const tools = {
  records: new DynamoDbConsumerRecords(client, config.tables, pacing),
  digest: systemDigest,
  ...pacing,
};

export const handler = idempotently({ unit: 'an event', record: 'its record, written with the receipt' }, (runner) => {
  /** Each effect is a row with a new key, so that a duplicate would be a second row. */
  return createEventHandler(
    {
      events: RECEIPT_EVENTS,
      handler: 'demo-receipts',
      handle: inOwnTables(async ({ payment, event: { type } }: EventOf<(typeof RECEIPT_EVENTS)[number]>) => [
        {
          kind: 'put',
          row: {
            table: 'views',
            partition: paymentPartition(payment.id),
            sort: `${ReceiptRow.effect}${randomUUID()}`,
          },
          attributes: { type },
        },
      ]),
    },
    {
      consume: async (consumer, read) => {
        const { event, payment } = read;
        const { metadata } = payment;
        const delivery = { eventId: event.id, type: event.type, paymentId: payment.id, metadata };
        await noteDeliveries(client, receipts, [delivery]);
        const done = await consumeEvent({ ...tools, runner }, consumer, read);
        await holdAcknowledgement([delivery]);
        return done;
      },
      parking: new SqsParking(new SQSClient({ maxAttempts: 1 }), config.parkingQueueUrl),
      telemetry: consumerTelemetry('demo-receipts', { instruments: systemInstruments, clock: systemClock }),
    },
  );
});
