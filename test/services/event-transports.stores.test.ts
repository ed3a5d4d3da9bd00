import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { AckPolicy, type JetStreamClient, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { type NatsConnection, nanos } from '@nats-io/transport-node';
import type { EventBridgeEvent, MSKEvent, SQSEvent } from 'aws-lambda';
import type { Pool } from 'pg';
import type { EventHandler, ParkedMessage } from '../../lambdas/services/once.ts';
import { createEventHandler, EventNames, type EventOf } from '../../package/events.ts';
import { LOGIN, NatsServer } from '../bridge/bridge-world.ts';
import { ADD_POINT, ServiceDatabase } from './service-database.ts';
import { paymentCompleted } from './service-events.ts';

const STREAM = 'payments';
const nats = new NatsServer(`authorization { user: "${LOGIN.user}", password: "${LOGIN.pass}" }`);
let connection: NatsConnection;
let stream: JetStreamClient;
let database: ServiceDatabase;
let pool: Pool;

beforeAll(async () => {
  database = await ServiceDatabase.create();
  pool = database.pool();
  await nats.start();
  connection = await nats.connect();
  const manager = await jetstreamManager(connection);
  await manager.streams.add({ name: STREAM, subjects: ['payments.>'] });
  stream = jetstream(connection);
});
afterEach(() => expect(database.handedOut).toBe(0));
afterAll(async () => {
  await connection.close();
  await nats.remove();
  await database.close();
});

interface Consumer {
  readonly handle: EventHandler;
  readonly parked: readonly ParkedMessage[];
}

/** The first `failures` attempts throw. */
function consumerOf(member: string, { failures = 0, isPermanent = false } = {}): Consumer {
  const parked: ParkedMessage[] = [];
  let left = failures;
  const handle = createEventHandler({
    postgres: pool,
    events: [EventNames.paymentCompleted],
    handler: `${member}-points`,
    ...(isPermanent ? { key: ({ payment }: EventOf<typeof EventNames.paymentCompleted>) => payment.id } : {}),
    park: async (message) => void parked.push(message),
    handle: async (_event, { tx }) => {
      await tx.query(ADD_POINT, [member]);
      left -= 1;
      if (left >= 0) throw new Error('the handler failed');
    },
  });
  return { handle, parked };
}

const eventOf = (name: string): object => ({ ...(paymentCompleted(name) as object), occurredAtMs: Date.now() });
const envelopeOf = (detail: object) =>
  ({ source: 'payonce', 'detail-type': EventNames.paymentCompleted, detail }) as EventBridgeEvent<string, unknown>;
const sqsEvent = (detail: object) =>
  ({ Records: [{ messageId: 'm1', body: JSON.stringify(envelopeOf(detail)) }] }) as SQSEvent;
const kafkaEvent = (...values: readonly (object | string)[]) => {
  const record = (value: object | string) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return { topic: 'payments', partition: 0, offset: 1, value: Buffer.from(text).toString('base64') };
  };
  return { eventSource: 'aws:kafka', records: { 'payments-0': values.map(record) } } as unknown as MSKEvent;
};

/** Time after which the queue redelivers a refused message, in milliseconds. The tests shorten it. */
const RETRY_MS = 5_000;

/**
 * @returns functions that handle the next message, and that return the numbers of waiting and of unacknowledged
 * messages
 */
async function natsConsumer(name: string, handle: EventHandler) {
  const manager = await jetstreamManager(connection);
  await manager.consumers.add(STREAM, {
    durable_name: name,
    ack_policy: AckPolicy.Explicit,
    // Longer than a test waits, so that only a refused message is redelivered.
    ack_wait: nanos(600_000),
    filter_subject: `payments.${name}`,
  });
  const consumer = await stream.consumers.get(STREAM, name);
  return {
    next: async () => {
      const message = await consumer.next({ expires: 30_000 });
      if (message === null) throw new Error('JetStream delivered no message');
      const nak = message.nak.bind(message);
      message.nak = (afterMs) => nak(afterMs === RETRY_MS ? 1 : afterMs);
      await handle(message);
      await connection.flush();
      return message.info.deliveryCount;
    },
    pending: async () => {
      const { num_pending: waiting, num_ack_pending: unacknowledged } = await consumer.info();
      return [waiting, unacknowledged];
    },
  };
}

describe('an event consumer', () => {
  test.each([false, true])(
    'writes once for an event that arrives over EventBridge, SQS, Kafka and NATS (with a business key: %s)',
    async (isPermanent) => {
      const member = `everywhere-${isPermanent}`;
      const { handle, parked } = consumerOf(member, { isPermanent });
      const event = eventOf(member);
      const { next, pending } = await natsConsumer(member, handle);
      await stream.publish(`payments.${member}`, JSON.stringify(event));
      await Promise.all([
        handle(envelopeOf(event)),
        handle(sqsEvent(event)),
        handle(kafkaEvent(event, envelopeOf(event))),
        next(),
      ]);
      expect(await pending()).toEqual([0, 0]);
      expect([await database.pointsOf(member), parked]).toEqual([1, []]);
    },
  );

  test('fails on each transport when its handler fails, and writes once when the event is redelivered', async () => {
    const member = 'again';
    const { handle } = consumerOf(member, { failures: 4 });
    const event = eventOf(member);
    const { next, pending } = await natsConsumer(member, handle);
    await stream.publish(`payments.${member}`, JSON.stringify(event));
    await expect(handle(envelopeOf(event))).rejects.toThrow('the handler failed');
    expect(await handle(sqsEvent(event))).toEqual({ batchItemFailures: [{ itemIdentifier: 'm1' }] });
    await expect(handle(kafkaEvent(event))).rejects.toThrow('1 of 1 records failed');
    expect(await next()).toBe(1);
    expect(await database.pointsOf(member)).toBeUndefined();
    expect(await next()).toBe(2);
    expect(await pending()).toEqual([0, 0]);
    await handle(kafkaEvent(event));
    expect(await database.pointsOf(member)).toBe(1);
  });

  test('handles each record of a Kafka batch separately, and parks records that would fail at every retry', async () => {
    const member = 'batch';
    const { handle, parked } = consumerOf(member, { failures: 1 });
    const old = { ...eventOf('batch-old'), occurredAtMs: Date.now() - 31 * 86_400_000 };
    const other = { ...eventOf('batch-other') } as { readonly event: object };
    const unknown = { ...other, event: { ...other.event, type: 'payment.failed' } };
    const batch = kafkaEvent(eventOf('batch-1'), '{', old, unknown, eventOf('batch-2'));
    await expect(handle(batch)).rejects.toThrow('1 of 5 records failed');
    expect(await database.pointsOf(member)).toBe(1);
    await handle(batch);
    expect(await database.pointsOf(member)).toBe(2);
    const reasons = [/not a Payonce event/, /./, /does not handle payment\.failed/];
    expect(parked.map(({ reason }) => reason)).toEqual(
      [...reasons, ...reasons].map((each) => expect.stringMatching(each)),
    );
  });

  test('acknowledges a NATS message that was parked', async () => {
    const { handle, parked } = consumerOf('poison');
    const { next, pending } = await natsConsumer('poison', handle);
    await stream.publish('payments.poison', 'not json');
    await next();
    expect([await pending(), parked]).toEqual([
      [0, 0],
      [{ transport: 'nats', text: 'not json', reason: 'the message is not a Payonce event' }],
    ]);
  });

  test('fails an unreadable message if no `park` callback is given', async () => {
    const handle = createEventHandler({
      postgres: pool,
      events: [EventNames.paymentCompleted],
      handler: 'unparked-points',
      handle: async () => undefined,
    });
    await expect(handle(kafkaEvent('{'))).rejects.toThrow('1 of 1 records failed');
  });
});
