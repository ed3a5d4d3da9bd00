/** Tests the guarantee "parked messages". */
import { describe, expect, test } from '@jest/globals';
import type { SQSRecord } from 'aws-lambda';
import { EventNames } from '../../lambdas/events/contract.ts';
import { createEventHandler } from '../../lambdas/events/http/event-handler.ts';
import type { EventOf } from '../../lambdas/events/http/event-schemas.ts';
import type { ConsumedMessage } from '../../lambdas/events/http/event-telemetry.ts';
import type { RemainingTime } from '../../lambdas/events/http/message-batch.ts';
import type { Parking } from '../../lambdas/events/use/ledger-stream.ts';
import { CONSUMER_TIMEOUT_SECONDS } from '../../lambdas/kernel/contract/events.ts';
import {
  LANE_RUN_SECONDS,
  LONGEST_MESSAGE_SECONDS,
  PAYMENTS_TIMEOUT_SECONDS,
  RECEIPT_SECONDS,
  REQUEST_BUDGET_SECONDS,
  WEBHOOK_CALL_SECONDS,
  WEBHOOK_SENDER_TIMEOUT_SECONDS,
} from '../../lambdas/kernel/contract/timing.ts';
import { AmbiguousError, RetryableError, TerminalError } from '../../lambdas/kernel/faults.ts';
import { paidEvent } from '../once/consumer-world.ts';

const EVENT = paidEvent();

/** EventBridge sends this message to a queue. */
const envelope = (detail: unknown, name = 'payment.completed.v1') =>
  JSON.stringify({ version: '0', id: 'x', 'detail-type': name, source: 'payonce', detail });

function recordOf(body: string, { messageId = 'm0', receives = 1, failures = 0 }): SQSRecord {
  const messageAttributes = failures === 0 ? {} : { failures: { stringValue: String(failures), dataType: 'Number' } };
  const attributes = { ApproximateReceiveCount: String(receives) };
  return { messageId, receiptHandle: messageId, body, attributes, messageAttributes } as unknown as SQSRecord;
}

type Behavior = (event: EventOf) => Promise<'done' | 'done_before' | 'busy'>;

function harness(behave: Behavior = async () => 'done', park: Parking['park'] = async () => undefined) {
  const parked: Parameters<Parking['park']>[0][] = [];
  const again: { readonly body: string; readonly failures: number }[] = [];
  const acknowledged: string[] = [];
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
        requeue: async ({ body }, failures) => {
          await park({ body, reason: 'again', detail: '' });
          again.push({ body, failures });
        },
        acknowledge: async ({ receiptHandle }) => void acknowledged.push(receiptHandle),
      },
      telemetry: { batch: (messages) => void batches.push(messages), fault: (_id, error) => void faults.push(error) },
    },
  );
  const receive = (...bodies: readonly string[]) => receiveAgain(1, ...bodies);
  const receiveAgain = async (receives: number, ...bodies: readonly string[]) =>
    take(bodies.map((body, index) => recordOf(body, { messageId: `m${index}`, receives })));
  const take = async (records: readonly SQSRecord[], context?: RemainingTime) => {
    const { batchItemFailures } = await handler({ Records: [...records] }, context);
    return batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
  };
  return { parked, again, acknowledged, taken, batches, faults, receive, receiveAgain, take };
}

describe('a batch of messages', () => {
  test('has a separate result for each message, so that only failed and busy messages are redelivered', async () => {
    const kinds = ['done', 'busy', 'done_before', 'throw', 'done'];
    const { receive, again, faults, batches } = harness(async () => {
      const kind = kinds.shift();
      if (kind === 'throw') throw new Error('the handler failed');
      return kind as 'done';
    });
    expect(await receive(...Array.from({ length: 5 }, () => envelope(EVENT)))).toEqual(['m1']);
    expect(again).toHaveLength(1);
    expect(faults).toHaveLength(1);
    expect(batches[0]?.map(({ result }) => result)).toEqual(['done', 'busy', 'done_before', 'failed', 'done']);
  });

  test.each([
    ['a text that is not JSON', '{"detail":', 'malformed', 'the envelope'],
    ['a value that is not an envelope', '[]', 'malformed', 'the envelope'],
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
      'an event about a different object',
      envelope({ ...EVENT, event: { ...EVENT.event, data: { object: { object: 'x' } } } }),
      'malformed',
      'event.data.object.id',
    ],
    ['an event whose type differs from its name', envelope(EVENT, 'refund.failed.v1'), 'malformed', 'event.type'],
    [
      "an event that the consumer's rule does not select",
      envelope(EVENT, 'payment.completed.v2'),
      'unexpected',
      'payment.completed.v2',
    ],
  ])('continues after %s; this message is parked unchanged, with the reason', async (_what, body, reason, detail) => {
    const { receive, parked, taken } = harness();
    expect(await receive(envelope(EVENT), body, envelope(EVENT))).toEqual([]);
    expect(taken).toHaveLength(2);
    expect(parked).toEqual([{ body, reason, detail: expect.stringContaining(detail) }]);
  });

  test.each([
    ['is processing the message', async () => 'busy' as const],
    ['cannot reach a service', () => Promise.reject(new RetryableError('store_unavailable', 'not now'))],
    ['gets no response from a service', () => Promise.reject(new AmbiguousError('mail_unanswered', 'no response'))],
  ])('does not park a message while its consumer %s, even at the 100th delivery', async (_why, behave) => {
    const { receiveAgain, parked } = harness(behave);
    expect(await receiveAgain(100, envelope(EVENT))).toEqual(['m0']);
    expect(parked).toEqual([]);
  });

  test.each([
    ['a bug', new TypeError('undefined is not a function'), 'TypeError'],
    ['a refusal', new TerminalError('mail_token_invalid', 'refused'), 'mail_token_invalid'],
  ])('parks a message with the reason after five failures due to %s', async (_why, error, detail) => {
    const { take, again, parked, faults } = harness(() => Promise.reject(error));
    const body = envelope(EVENT);
    // The message was throttled for hours before its first failure.
    expect(await take([recordOf(body, { receives: 100 })])).toEqual([]);
    for (let failures = 1; failures < 4; failures += 1) expect(await take([recordOf(body, { failures })])).toEqual([]);
    expect(again).toEqual([1, 2, 3, 4].map((failures) => ({ body, failures })));
    expect(parked).toEqual([]);
    expect(await take([recordOf(body, { failures: 4 })])).toEqual([]);
    expect(parked).toEqual([{ body, reason: 'failed', detail }]);
    expect(faults).toHaveLength(5);
    const away = harness(
      () => Promise.reject(error),
      () => Promise.reject(new Error('the queue is down')),
    );
    expect(await away.take([recordOf(body, {})])).toEqual(['m0']);
    expect(await away.take([recordOf(body, { failures: 4 })])).toEqual(['m0']);
  });

  /** The queue does not redeliver acknowledged messages. */
  test('loses no other message to the dead-letter queue if one message kills the process', async () => {
    const names = ['a', 'b', 'killer', 'c', 'd'];
    const left = new Set(names);
    for (let receives = 1; receives < 30 && left.size > 1; receives += 1) {
      const bodies = [...left];
      let died: () => void = () => undefined;
      const death = new Promise<void>((resolve) => {
        died = resolve;
      });
      const { take, acknowledged } = harness(async ({ event }) => {
        if (event.id !== 'killer') return 'done';
        died();
        return new Promise(() => undefined);
      });
      const records = bodies.map((id) =>
        recordOf(envelope({ ...EVENT, event: { ...EVENT.event, id } }), { messageId: id, receives }),
      );
      const ended = await Promise.race([take(records), death]);
      expect(ended).toBeUndefined();
      for (const id of acknowledged) left.delete(id);
    }
    expect([...left]).toEqual(['killer']);
  });

  test('is processed message by message after three deliveries: at least one message, and more while time remains', async () => {
    let leftMs = CONSUMER_TIMEOUT_SECONDS * 1000;
    const { take, taken, again, acknowledged } = harness(async () => {
      leftMs -= 4_000;
      return 'done';
    });
    const records = ['a', 'b', 'c', 'd'].map((messageId) => recordOf(envelope(EVENT), { messageId, receives: 3 }));
    expect(await take(records, { getRemainingTimeInMillis: () => leftMs })).toEqual(['b', 'c']);
    expect([taken.length, acknowledged, again]).toEqual([2, ['d', 'a'], []]);
    expect(await take(records.slice(0, 2), { getRemainingTimeInMillis: () => 1_000 })).toHaveLength(1);
  });

  // A message in progress when its function is killed would appear to have caused the kill. Therefore, a function never
  // starts a message that needs more time than the function has left.
  test.each([
    ['payment requests', LONGEST_MESSAGE_SECONDS.paymentRequest, REQUEST_BUDGET_SECONDS, PAYMENTS_TIMEOUT_SECONDS],
    ['consumers', LONGEST_MESSAGE_SECONDS.consumed, RECEIPT_SECONDS, CONSUMER_TIMEOUT_SECONDS],
    [
      'webhooks',
      LONGEST_MESSAGE_SECONDS.webhookTask,
      LANE_RUN_SECONDS + WEBHOOK_CALL_SECONDS,
      WEBHOOK_SENDER_TIMEOUT_SECONDS,
    ],
  ])(
    'gives a message of %s more time than its calls need, and less than the timeout of its function',
    (_whose, needed, calls, timeout) => {
      expect(needed).toBeGreaterThan(calls + 2);
      expect(needed).toBeLessThan(timeout);
    },
  );

  test.each([3, 4, 5])('acknowledges its other messages if one message must wait, at delivery %d', async (receives) => {
    const { receiveAgain, acknowledged } = harness(async ({ event }) => {
      if (event.id === 'waits') throw new RetryableError('mail_unavailable', 'not now');
      return 'done';
    });
    const waiting = envelope({ ...EVENT, event: { ...EVENT.event, id: 'waits' } });
    expect(await receiveAgain(receives, envelope(EVENT), waiting, envelope(EVENT))).toEqual(['m1']);
    expect(acknowledged.toSorted()).toEqual(['m0', 'm2']);
  });

  test('keeps a message that cannot be parked', async () => {
    const { receive, faults } = harness(undefined, async () => {
      throw new Error('the queue is down');
    });
    expect(await receive(envelope(EVENT), 'poison', envelope(EVENT))).toEqual(['m1']);
    expect(faults).toHaveLength(1);
  });
});

test('a payload has the type of the requested event', async () => {
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
      parking: { park: async () => undefined, requeue: async () => undefined, acknowledge: async () => undefined },
      telemetry: { batch: () => undefined, fault: () => undefined },
    },
  );
  await handler({ Records: [recordOf(envelope(EVENT), {})] });
  expect(amounts).toEqual([1000]);
});
