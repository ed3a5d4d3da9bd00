import type { EventBridgeEvent, MSKEvent, SelfManagedKafkaEvent, SQSBatchResponse, SQSEvent } from 'aws-lambda';
import * as z from 'zod';
import {
  type BusEvent,
  isUnprocessable,
  type Park,
  type ParkedMessage,
  UnreadableEvent,
} from '../use/consume-event.ts';

/** A NATS JetStream message, as the NATS library delivers it. */
export interface NatsMessage {
  readonly data: Uint8Array;
  ack(): void;
  /** Requests a redelivery after this time, in milliseconds. */
  nak(afterMs?: number): void;
}

/**
 * The handler of a consumer, for every transport. An event has one record, whichever transport delivers it, so an event
 * that arrives over two transports takes effect once.
 *
 *   SQS             a message that fails stays in the queue, and finally moves to the dead-letter queue
 *   EventBridge     the error of a failed event is thrown, so that Lambda invokes the function again
 *   Kafka           after all records were tried, the errors are thrown, so that Lambda redelivers the batch
 *   NATS JetStream  acknowledged after the commit; a message that fails is redelivered
 *
 * Kafka and NATS have no dead-letter queue: a message that can never succeed is passed to the consumer's `park`, if it
 * has one.
 */
export interface EventHandler {
  (event: SQSEvent): Promise<SQSBatchResponse>;
  (event: MSKEvent | SelfManagedKafkaEvent | EventBridgeEvent<string, unknown>): Promise<void>;
  (message: NatsMessage): Promise<void>;
}

const NATS_RETRY_MS = 5_000;

const detail = z.looseObject({
  tenant: z.string(),
  mode: z.enum(['test', 'live']),
  occurredAtMs: z.int(),
  event: z.looseObject({ id: z.string().min(1), type: z.string(), data: z.object({ object: z.unknown() }) }),
});
/**
 * EventBridge delivers the event in the field `detail`. With other transports, a message has the same field, or is the
 * event itself.
 */
const delivered = z.union([z.object({ detail }).transform((envelope) => envelope.detail), detail]);

type Delivery = SQSEvent | MSKEvent | SelfManagedKafkaEvent | EventBridgeEvent<string, unknown> | NatsMessage;

/**
 * Creates the handler of a consumer.
 * @param consume processes an event once
 * @param park stores a Kafka or NATS message that can never succeed @default the message fails
 */
export function eventHandler(consume: (event: BusEvent) => Promise<void>, park?: Park): EventHandler {
  const parking = async (transport: ParkedMessage['transport'], text: string): Promise<void> => {
    try {
      await consume(parse(text));
    } catch (error) {
      if (park === undefined || !isUnprocessable(error)) throw error;
      await park({ transport, text, reason: error.message });
    }
  };
  const handle = async (delivery: Delivery): Promise<SQSBatchResponse | undefined> => {
    if ('Records' in delivery) {
      const { Records } = delivery;
      const settled = await Promise.allSettled(Records.map(async ({ body }) => consume(parse(body))));
      const failed = Records.filter((_, index) => settled[index]?.status === 'rejected');
      return { batchItemFailures: failed.map(({ messageId }) => ({ itemIdentifier: messageId })) };
    }
    if ('records' in delivery) {
      const texts = Object.values(delivery.records).flatMap((partition) =>
        // Lambda omits the field `value` of a record without a value, although the type requires the field.
        partition.map(({ value }: { value?: string }) => Buffer.from(value ?? '', 'base64').toString('utf8')),
      );
      const settled = await Promise.allSettled(texts.map((text) => parking('kafka', text)));
      const errors = settled.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
      if (errors.length > 0) throw new AggregateError(errors, `${errors.length} of ${texts.length} records failed`);
      return undefined;
    }
    if ('data' in delivery) {
      const settled = await Promise.allSettled([parking('nats', Buffer.from(delivery.data).toString('utf8'))]);
      if (settled[0].status === 'fulfilled') delivery.ack();
      else delivery.nak(NATS_RETRY_MS);
      return undefined;
    }
    await consume(parse(JSON.stringify(delivery)));
    return undefined;
  };
  return handle as EventHandler;
}

function parse(text: string): BusEvent {
  try {
    return delivered.parse(JSON.parse(text));
  } catch (cause) {
    throw new UnreadableEvent('the message is not a Payonce event', { cause });
  }
}
