import { describe, expect, test } from '@jest/globals';
import { EventNames } from '../../lambdas/events/contract.ts';
import { createEventHandler, type ParkedMessage } from '../../lambdas/events/http/event-handler.ts';
import type { EventOf } from '../../lambdas/events/http/event-schemas.ts';
import type { ConsumedMessage } from '../../lambdas/events/http/event-telemetry.ts';
import { AmbiguousError, RetryableError, TerminalError } from '../../lambdas/kernel/faults.ts';
import { paidEvent } from '../once/consumer-world.ts';

const EVENT = paidEvent();

/** The message as EventBridge sends it to a queue. */
const envelope = (detail: unknown, name = 'payment.completed.v1') =>
  JSON.stringify({ version: '0', id: 'x', 'detail-type': name, source: 'payonce', detail });

type Behavior = (event: EventOf) => Promise<'done' | 'done_before' | 'busy'>;

/** A consumer of completed payments and failed refunds. */
function harness(
  behave: Behavior = async () => 'done',
  park: (message: ParkedMessage) => Promise<void> = async () => undefined,
) {
  const parked: ParkedMessage[] = [];
  const taken: string[] = [];
  const batches: (readonly ConsumedMessage[])[] = [];
  const faults: unknown[] = [];
  const handler = createEventHandler(
    {
      events: [EventNames.paymentCompleted, EventNames.refundFailed],
      handler: 'suite',
      handle: 'what the use case is given',
    },
    {
      consume: async (consumer, each) => {
        taken.push(`${consumer.handler} ${each.event.type}`);
        return { kind: await behave(each) };
      },
      parking: {
        park: async (message) => {
          await park(message);
          parked.push(message);
        },
      },
      telemetry: { batch: (messages) => void batches.push(messages), fault: (_id, error) => void faults.push(error) },
    },
  );
  const receive = (...bodies: readonly string[]) => receiveAgain(1, ...bodies);
  const receiveAgain = async (receives: number, ...bodies: readonly string[]) => {
    const attributes = { ApproximateReceiveCount: String(receives) };
    const records = bodies.map((body, index) => ({ messageId: `m${index}`, body, attributes }));
    const { batchItemFailures } = await handler({ Records: records } as Parameters<typeof handler>[0]);
    return batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
  };
  return { parked, taken, batches, faults, receive, receiveAgain };
}

describe('a batch of events', () => {
  test('is processed message by message: only messages that failed or are in progress are redelivered', async () => {
    const kinds = ['done', 'busy', 'done_before', 'throw', 'done'];
    const { receive, faults, batches } = harness(async () => {
      const kind = kinds.shift();
      if (kind === 'throw') throw new Error('the handler failed');
      return kind as 'done';
    });
    expect(await receive(...Array.from({ length: 5 }, () => envelope(EVENT)))).toEqual(['m1', 'm3']);
    expect(faults).toHaveLength(1);
    expect(batches[0]?.map(({ came }) => came)).toEqual(['done', 'busy', 'done_before', 'failed', 'done']);
  });

  test.each([
    ['what is not JSON', '{"detail":', 'malformed', 'the envelope'],
    ['what is no envelope', '[]', 'malformed', 'the envelope'],
    ['an envelope without a detail', '{"detail-type":"payment.completed.v1"}', 'malformed', 'the envelope'],
    [
      'an event without a version',
      envelope({ ...EVENT, event: { ...EVENT.event, version: undefined } }),
      'malformed',
      'event.version',
    ],
    [
      'an event without its payment',
      envelope({ ...EVENT, payment: { id: EVENT.payment.id } }),
      'malformed',
      'payment.object',
    ],
    [
      'an event about something else',
      envelope({ ...EVENT, event: { ...EVENT.event, data: { object: { object: 'x' } } } }),
      'malformed',
      'event.data.object.id',
    ],
    ['an event of another type than its name says', envelope(EVENT, 'refund.failed.v1'), 'malformed', 'event.type'],
    [
      'an event that its rule must not select',
      envelope(EVENT, 'payment.completed.v2'),
      'unexpected',
      'payment.completed.v2',
    ],
  ])(
    'does not stop at %s in its middle, which is parked unchanged with the reason',
    async (_what, body, reason, detail) => {
      const { receive, parked, taken } = harness();
      expect(await receive(envelope(EVENT), body, envelope(EVENT))).toEqual([]);
      expect(taken).toHaveLength(2);
      expect(parked).toEqual([{ body, reason, detail: expect.stringContaining(detail) }]);
    },
  );

  test.each([
    ['is busy with it', async () => 'busy' as const],
    ['cannot reach a service', () => Promise.reject(new RetryableError('store_unavailable', 'not now'))],
    ['gets no answer of a service', () => Promise.reject(new AmbiguousError('mail_unanswered', 'no answer'))],
  ])('never parks a message because its consumer %s', async (_why, behave) => {
    const { receiveAgain, parked } = harness(behave);
    expect(await receiveAgain(100, envelope(EVENT))).toEqual(['m0']);
    expect(parked).toEqual([]);
  });

  test.each([
    ['a bug', new TypeError('undefined is not a function'), 'TypeError'],
    ['a refusal', new TerminalError('mail_token_invalid', 'refused'), 'mail_token_invalid'],
  ])('parks a message with the reason after five failures by %s', async (_why, error, detail) => {
    const { receiveAgain, parked, faults } = harness(() => Promise.reject(error));
    const body = envelope(EVENT);
    for (let receives = 1; receives < 5; receives += 1) expect(await receiveAgain(receives, body)).toEqual(['m0']);
    expect(parked).toEqual([]);
    expect(await receiveAgain(5, body)).toEqual([]);
    expect(parked).toEqual([{ body, reason: 'failed', detail }]);
    expect(faults).toHaveLength(5);
    const away = harness(
      () => Promise.reject(error),
      () => Promise.reject(new Error('the queue is down')),
    );
    expect(await away.receiveAgain(5, body)).toEqual(['m0']);
  });

  test('does not lose a message that it cannot park', async () => {
    const { receive, faults } = harness(undefined, async () => {
      throw new Error('the queue is down');
    });
    expect(await receive(envelope(EVENT), 'poison', envelope(EVENT))).toEqual(['m1']);
    expect(faults).toHaveLength(1);
  });
});

test('a payload is typed by the requested event type', async () => {
  const amounts: number[] = [];
  const handler = createEventHandler(
    {
      events: [EventNames.paymentCompleted],
      handler: 'typed',
      key: (event) => `commission:${event.payment.id}`,
      handle: (event: EventOf<'payment.completed.v1'>) => amounts.push(event.event.data.object.amount_captured),
    },
    {
      consume: async ({ handle, key }, event) => {
        handle(event);
        expect(key?.(event)).toBe(`commission:${EVENT.payment.id}`);
        return { kind: 'done' };
      },
      parking: { park: async () => undefined },
      telemetry: { batch: () => undefined, fault: () => undefined },
    },
  );
  await handler({ Records: [{ messageId: 'm', body: envelope(EVENT) }] } as Parameters<typeof handler>[0]);
  expect(amounts).toEqual([1000]);
});
