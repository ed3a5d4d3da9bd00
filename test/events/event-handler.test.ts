import { describe, expect, test } from '@jest/globals';
import type { PayonceEvent } from '../../lambdas/events/domain/event.ts';
import { createEventHandler, type ParkedMessage } from '../../lambdas/events/http/event-handler.ts';
import type { EventOf, EventType } from '../../lambdas/events/http/event-schemas.ts';
import type { ConsumedMessage } from '../../lambdas/events/http/event-telemetry.ts';
import { paidEvent } from '../once/consumer-world.ts';

const EVENT = paidEvent();

/** The message as EventBridge sends it to a queue. */
const envelope = (detail: unknown) =>
  JSON.stringify({ version: '0', id: 'x', 'detail-type': 'payment.completed', source: 'payonce', detail });
const other = (changes: { version?: number; type?: string }): unknown => ({
  ...EVENT,
  version: changes.version ?? 1,
  event: { ...EVENT.event, type: changes.type ?? EVENT.event.type },
});

type Behavior = (event: PayonceEvent) => Promise<'done' | 'done_before' | 'busy'>;

/** A consumer of completed payments by default. */
function harness(
  event: EventType | readonly EventType[] | '*' = 'payment.completed',
  behave: Behavior = async () => 'done',
  park: (message: ParkedMessage) => Promise<void> = async () => undefined,
) {
  const parked: ParkedMessage[] = [];
  const taken: string[] = [];
  const batches: (readonly ConsumedMessage[])[] = [];
  const faults: unknown[] = [];
  const handler = createEventHandler<EventType, string>(
    { event, handler: 'suite', handle: 'what the use case is given' },
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
  const receive = async (...bodies: readonly string[]) => {
    const records = bodies.map((body, index) => ({ messageId: `m${index}`, body }));
    const { batchItemFailures } = await handler({ Records: records } as Parameters<typeof handler>[0]);
    return batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
  };
  return { parked, taken, batches, faults, receive };
}

describe('a batch of events', () => {
  test('is taken in message by message: only what failed or is under way comes again', async () => {
    const kinds = ['done', 'busy', 'done_before', 'throw', 'done'];
    const { receive, faults, batches } = harness('payment.completed', async () => {
      const kind = kinds.shift();
      if (kind === 'throw') throw new Error('the handler failed');
      return kind as 'done';
    });
    expect(await receive(...Array.from({ length: 5 }, () => envelope(EVENT)))).toEqual(['m1', 'm3']);
    expect(faults).toHaveLength(1);
    expect(batches[0]?.map(({ came }) => came)).toEqual(['done', 'busy', 'done_before', 'failed', 'done']);
  });

  test.each([
    ['what is not JSON', '{"detail":', 'malformed', 'the event'],
    ['what is no envelope', '[]', 'malformed', 'the event'],
    ['an envelope without a detail', '{}', 'malformed', 'the event'],
    ['an event without a version', envelope({ ...EVENT, version: undefined }), 'malformed', 'version'],
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
      'id',
    ],
    ['an event of a newer version', envelope(other({ version: 2 })), 'unknown_version', 'version 2'],
  ])('does not stop at %s in its middle: it is parked whole, with the reason', async (_what, body, reason, detail) => {
    const { receive, parked, taken } = harness();
    expect(await receive(envelope(EVENT), body, envelope(EVENT))).toEqual([]);
    expect(taken).toHaveLength(2);
    expect(parked).toEqual([{ body, reason, detail: expect.stringContaining(detail) }]);
  });

  test('does not lose what it cannot park', async () => {
    const { receive, faults } = harness('*', undefined, async () => {
      throw new Error('the queue is down');
    });
    expect(await receive(envelope(EVENT), 'poison', envelope(EVENT))).toEqual(['m1']);
    expect(faults).toHaveLength(1);
  });
});

describe('what a consumer does not ask for', () => {
  test.each([
    ['another type', 'refund.failed' as const, other({})],
    [
      'a type that nobody knows yet',
      ['payment.completed', 'refund.failed'] as const,
      other({ type: 'payment.settled' }),
    ],
    ['a newer version of another type', 'refund.failed' as const, other({ version: 2 })],
  ])('is acknowledged: %s', async (_what, wanted, detail) => {
    const { receive, parked, taken } = harness(wanted);
    expect(await receive(envelope(detail))).toEqual([]);
    expect([...parked, ...taken]).toEqual([]);
  });

  test('is parked for a consumer of all types when its type is unknown', async () => {
    const { receive, parked } = harness('*');
    expect(await receive(envelope(other({ type: 'payment.settled' })))).toEqual([]);
    expect(parked).toMatchObject([{ reason: 'unknown_type', detail: 'payment.settled' }]);
  });
});

test('a payload is typed by the event that is asked for', async () => {
  const amounts: number[] = [];
  const handler = createEventHandler(
    {
      event: 'payment.completed',
      handler: 'typed',
      key: (event) => `commission:${event.payment.id}`,
      handle: (event: EventOf<'payment.completed'>) => amounts.push(event.event.data.object.amount_captured),
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
