import { randomUUID } from 'node:crypto';
import { SQSClient } from '@aws-sdk/client-sqs';
import type { SQSEvent } from 'aws-lambda';
import { createEventHandler } from '../../lambdas/events/http/event-handler.ts';
import { type EventOf, readEvent } from '../../lambdas/events/http/event-schemas.ts';
import { consumerTelemetry } from '../../lambdas/events/http/event-telemetry.ts';
import { readConsumerConfig } from '../../lambdas/events/settings.ts';
import { SqsParking } from '../../lambdas/events/store/sqs-parking.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { systemInstruments } from '../../lambdas/kernel/platform/instruments.ts';
import { systemClock, systemDigest, systemEntropy } from '../../lambdas/kernel/platform/platform.ts';
import { idempotently } from '../../lambdas/once/idempotently.ts';
import { DynamoDbConsumerRecords } from '../../lambdas/once/store/dynamodb-consumer-records.ts';
import { consumeEvent, inOurTables } from '../../lambdas/once/use/consume-event.ts';
import { paymentPartition, RECEIPT_EVENTS, ReceiptRow } from '../contract.ts';
import { type Delivery, holdAcknowledgement, noteDeliveries } from './deliveries.ts';

const config = readConsumerConfig(process.env);
const receipts = config.tables.views;
invariant(receipts !== undefined, 'it was deployed without a table to write to');
const client = documentClient();
const pacing = { clock: systemClock, entropy: systemEntropy };
const tools = {
  records: new DynamoDbConsumerRecords(client, config.tables, pacing),
  digest: systemDigest,
  ...pacing,
};

export const handler = idempotently({ unit: 'an event', record: 'its record, written with the receipt' }, (runner) => {
  /** Each effect is a row with a new key, so that a duplicate would be a second row. */
  const consume = createEventHandler(
    {
      events: RECEIPT_EVENTS,
      handler: 'demo-receipts',
      handle: inOurTables(async ({ payment, event: { type } }: EventOf<(typeof RECEIPT_EVENTS)[number]>) => [
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
      consume: (consumer, event) => consumeEvent({ ...tools, runner }, consumer, event),
      parking: new SqsParking(new SQSClient({ maxAttempts: 1 }), config.parkingQueueUrl),
      telemetry: consumerTelemetry('demo-receipts', { instruments: systemInstruments, clock: systemClock }),
    },
  );
  return async (batch: SQSEvent) => {
    const deliveries = batch.Records.flatMap(({ body }) => deliveryOf(body));
    await noteDeliveries(client, receipts ?? '', deliveries);
    const done = await consume(batch);
    await holdAcknowledgement(deliveries);
    return done;
  };
});

function deliveryOf(body: string): readonly Delivery[] {
  const { 'detail-type': type, detail } = JSON.parse(body) as {
    readonly 'detail-type'?: string;
    readonly detail?: unknown;
  };
  const name = RECEIPT_EVENTS.find((each) => each === type);
  const read = name === undefined ? undefined : readEvent(name, detail);
  if (read?.kind !== 'event') return [];
  const { event, payment } = read.event;
  return [{ eventId: event.id, type: event.type, paymentId: payment.id, metadata: payment.metadata }];
}
