/** Tests the guarantee "parked messages". */
import { describe, expect, test } from '@jest/globals';
import { BUS_CALL_INVALID, MAX_BYTES } from '../../lambdas/events/use/event-publisher.ts';
import type { StreamRecord } from '../../lambdas/events/use/ledger-stream.ts';
import { AmbiguousError, RetryableError, TerminalError } from '../../lambdas/kernel/faults.ts';
import type { StrayCharge } from '../../lambdas/payments/domain/payment.ts';
import type { Transition, TransitionPlace } from '../../lambdas/payments/domain/transition.ts';
import { chains, RelayHarness } from './relay-harness.ts';

const NO_ORDERS = { readOrderTransition: async () => undefined };

const PAYMENTS = 12;
const POSITIONS = Array.from({ length: PAYMENTS }, (_, index) => index);

describe('the relay', () => {
  test('publishes every outcome once, with the fields of the first transition, and publishes no pending transition', async () => {
    const harness = new RelayHarness();
    expect(await harness.relay()).toMatchObject({ published: 2, parked: 0 });
    expect(harness.publishedIds).toEqual(harness.expected);
    expect(harness.bus.published[0]).toMatchObject({
      tenant: 'ten_fixture',
      event: { type: 'payment.completed', sequence: 2, data: { object: { description: 'two shirts' } } },
      payment: { metadata: { order: '6735' }, status: 'succeeded' },
    });
  });

  test('publishes the same events when another process reads the Stream from the beginning', async () => {
    const harness = new RelayHarness();
    await harness.relay();
    harness.restart();
    await harness.relay();
    expect(new Set(harness.publishedIds)).toEqual(new Set(harness.expected));
    expect(harness.bus.published[2]).toEqual(harness.bus.published[0]);
  });

  test.each(POSITIONS)(
    'does not republish accepted events when the Stream is redelivered from position %i',
    async (position) => {
      const harness = new RelayHarness(chains(PAYMENTS));
      const failing = harness.expected[position];
      harness.bus.trouble = (id) => (id === failing ? { kind: 'not_now', code: 'InternalFailure' } : undefined);
      const { redeliverFrom } = await harness.relay();
      expect(redeliverFrom).toBe(harness.records[PAYMENTS + position]?.position);
      harness.bus.trouble = () => undefined;
      const settled = await harness.relay(harness.records.slice(PAYMENTS + position));
      expect([...harness.publishedIds].sort()).toEqual([...harness.expected].sort());
      // For a redelivered batch, the count includes the outcomes that the bus accepted earlier.
      expect(settled).toMatchObject({ published: PAYMENTS - position, parked: 0 });
    },
  );

  test.each(['unreadable', 'tampered'] as const)('parks a redriven record again if it is still %s', async (kind) => {
    const harness = new RelayHarness();
    const content =
      kind === 'unreadable' ? { kind, detail: 'type' } : { kind, how: 'MODIFY', row: 'PAY#pay_1 T#000001' };
    const poison: StreamRecord = { position: 'x', whole: '{}', content };
    expect(await harness.relay([poison])).toMatchObject({ parked: 1 });
    expect(await harness.relay([poison])).toMatchObject({ parked: 1 });
    expect(harness.parked).toHaveLength(2);
  });

  test('publishes a redriven event that the bus refused before a fix, even in the same process', async () => {
    const harness = new RelayHarness(chains(1));
    harness.bus.trouble = () => ({ kind: 'refused', code: 'MalformedDetail' });
    expect(await harness.relay()).toMatchObject({ parked: 1 });
    const redriven = harness.records.slice(1);
    expect(await harness.relay(redriven)).toMatchObject({ published: 0, parked: 1 });
    expect(harness.parked).toHaveLength(2);
    harness.bus.trouble = () => undefined;
    expect(await harness.relay(redriven)).toMatchObject({ published: 1, parked: 0 });
    expect(harness.publishedIds).toEqual(harness.expected);
  });

  test('sends an event again if its refusal could not be parked, because the cause may have been fixed', async () => {
    const harness = new RelayHarness(chains(1));
    harness.bus.trouble = () => ({ kind: 'refused', code: 'MalformedDetail' });
    const parking = {
      park: async () => {
        throw new RetryableError('queue_down', 'the queue is down');
      },
    };
    expect(await harness.relayWith({ parking })).toMatchObject({
      parked: 0,
      redeliverFrom: harness.records[1]?.position,
    });
    harness.bus.trouble = () => undefined;
    expect(await harness.relay()).toMatchObject({ published: 1, parked: 0 });
    expect(harness.publishedIds).toEqual(harness.expected);
    expect(harness.parked).toEqual([]);
  });

  test.each(POSITIONS)('retries only the failed event: position %i of a dozen', async (position) => {
    const harness = new RelayHarness(chains(PAYMENTS));
    const failing = harness.expected[position];
    harness.bus.trouble = (id, attempt) =>
      id === failing && attempt === 1 ? { kind: 'not_now', code: 'ThrottlingException' } : undefined;
    expect(await harness.relay()).toMatchObject({ published: PAYMENTS, parked: 0 });
    expect([...harness.publishedIds].sort()).toEqual([...harness.expected].sort());
    // One call has ten events, one has the remaining two, and one has only the failed event.
    expect(harness.bus.calls.map((ids) => ids.length).sort((left, right) => left - right)).toEqual([1, 2, 10]);
  });

  test.each(POSITIONS)('resumes the Stream at an event that the bus does not accept: position %i', async (position) => {
    const harness = new RelayHarness(chains(PAYMENTS));
    harness.bus.trouble = (id) =>
      id === harness.expected[position] ? { kind: 'not_now', code: 'InternalFailure' } : undefined;
    const { redeliverFrom } = await harness.relay();
    expect(redeliverFrom).toBe(harness.records[PAYMENTS + position]?.position);
    expect(harness.bus.calls.filter((ids) => ids.length === 1)).toHaveLength(2);
    harness.bus.trouble = () => undefined;
    await harness.relay(harness.records.slice(PAYMENTS + position));
    expect(new Set(harness.publishedIds)).toEqual(new Set(harness.expected));
  });

  test('parks nothing if the bus refuses the caller rather than the event', async () => {
    const harness = new RelayHarness(chains(PAYMENTS));
    const publisher = {
      publish: async () => {
        throw new TerminalError('bus_refused', 'no permission');
      },
    };
    expect(await harness.relayWith({ publisher })).toMatchObject({
      published: 0,
      parked: 0,
      redeliverFrom: harness.records[PAYMENTS]?.position,
    });
  });

  test('tries each call to an unavailable bus three times, and then lets the Stream redeliver', async () => {
    const harness = new RelayHarness(chains(PAYMENTS));
    harness.bus.trouble = () => ({ kind: 'not_now', code: 'ThrottlingException' });
    expect(await harness.relay()).toMatchObject({ published: 0, redeliverFrom: harness.records[PAYMENTS]?.position });
    // The relay makes two concurrent calls.
    expect(harness.bus.calls).toHaveLength(2 * 3);
    expect(harness.parked).toEqual([]);
  });

  test('makes no further calls for a batch if its first five calls find the bus unavailable', async () => {
    const harness = new RelayHarness(chains(60));
    harness.bus.trouble = () => ({ kind: 'not_now', code: 'ThrottlingException' });
    expect(await harness.relay()).toMatchObject({ published: 0 });
    expect(harness.bus.calls).toHaveLength(5 * 3);
  });

  test.each(POSITIONS)(
    'parks an event that the bus will never accept, and continues: position %i',
    async (position) => {
      const harness = new RelayHarness(chains(PAYMENTS));
      harness.bus.trouble = (id) =>
        id === harness.expected[position] ? { kind: 'refused', code: 'MalformedDetail' } : undefined;
      const relayed = await harness.relay();
      expect(relayed).toMatchObject({ published: PAYMENTS - 1, parked: 1 });
      expect(relayed.redeliverFrom).toBeUndefined();
      const whole = harness.records[PAYMENTS + position]?.whole;
      expect(harness.parked).toEqual([{ body: whole, reason: 'refused_by_bus', detail: 'MalformedDetail' }]);
    },
  );

  test.each(POSITIONS)(
    'parks only the event that makes the bus refuse the whole call: position %i',
    async (position) => {
      const harness = new RelayHarness(chains(PAYMENTS));
      const culprit = harness.expected[position];
      const publisher = {
        publish: async (events: Parameters<typeof harness.bus.publish>[0]) => {
          if (events.some(({ event }) => event.id === culprit)) throw new TerminalError(BUS_CALL_INVALID, 'too large');
          return harness.bus.publish(events);
        },
      };
      const relayed = await harness.relayWith({ publisher });
      expect(relayed).toMatchObject({ published: PAYMENTS - 1, parked: 1 });
      expect(relayed.redeliverFrom).toBeUndefined();
      const whole = harness.records[PAYMENTS + position]?.whole;
      expect(harness.parked).toEqual([{ body: whole, reason: 'refused_by_bus', detail: BUS_CALL_INVALID }]);
    },
  );

  test.each([0, 1, 2, 3, 4])('parks a poison record completely, with its reason: position %i', async (at) => {
    const harness = new RelayHarness();
    const poison: StreamRecord = {
      position: 'x',
      whole: '{"all":"of it"}',
      content: { kind: 'unreadable', detail: 'type' },
    };
    harness.records.splice(at, 0, poison);
    const relayed = await harness.relay();
    expect(relayed).toMatchObject({ published: 2, parked: 1 });
    expect(relayed.redeliverFrom).toBeUndefined();
    expect(harness.parked).toEqual([{ body: '{"all":"of it"}', reason: 'unreadable', detail: 'type' }]);
    expect(harness.publishedIds).toEqual(harness.expected);
  });

  test('stops at a poison record that it cannot park', async () => {
    const harness = new RelayHarness();
    harness.records.splice(3, 0, { position: 'x', whole: '{}', content: { kind: 'unreadable', detail: '' } });
    harness.parked.push = () => {
      throw new RetryableError('queue_down', 'the queue is down');
    };
    expect(await harness.relay()).toMatchObject({ published: 1, parked: 0, redeliverFrom: 'x' });
    expect(harness.reported).toHaveLength(1);
  });

  test('parks an outcome whose first transition is missing', async () => {
    const [, outcome] = chains(1);
    const harness = new RelayHarness([outcome as Transition]);
    expect(await harness.relay()).toMatchObject({ published: 0, parked: 1 });
    expect(harness.parked[0]).toMatchObject({ reason: 'first_transition_missing' });
  });

  test.each(['MODIFY', 'REMOVE'])('reports and parks a row of the Ledger after a %s', async (how) => {
    const harness = new RelayHarness();
    const content = { kind: 'tampered', how, row: 'PAY#pay_1 T#000001' } as const;
    harness.records.splice(1, 0, { position: 'x', whole: '{"OldImage":{}}', content });
    expect(await harness.relay()).toMatchObject({ published: 2, parked: 1, tampered: 1 });
    const detail = `${how} PAY#pay_1 T#000001`;
    expect(harness.parked).toEqual([{ body: '{"OldImage":{}}', reason: 'ledger_tampered', detail }]);
  });

  describe('alarms for a payment', () => {
    const [created, completed] = chains(1) as [Transition, Transition];
    const { id } = created.payment;
    const review = { ...completed, type: 'payment.review_required' as const };
    const subject: StrayCharge = {
      kind: 'stray_charge',
      chargeId: 'ch_9',
      amountMinor: 700,
      currency: 'EUR',
      status: 'captured',
    };

    test.each([
      ['went into review', review, [`payment_to_review ${id}`]],
      ['has late money', { ...completed, type: 'payment.late_success' as const, subject }, [`late_success ${id}`]],
      ['failed with late money', { ...completed, type: 'payment.failed' as const, subject }, [`late_success ${id}`]],
      ['succeeded', completed, []],
    ])('are raised only if its outcome requires them: the payment %s', async (_what, outcome, alarms) => {
      const harness = new RelayHarness([created, outcome]);
      await harness.relay();
      expect(harness.alarms).toEqual(alarms);
    });

    test.each([
      ['the bus is unavailable', 'not_now'],
      ['the bus refuses its event', 'refused'],
    ] as const)('are raised once per process while %s', async (_when, kind) => {
      const harness = new RelayHarness([created, review]);
      harness.bus.trouble = () => ({ kind, code: 'InternalFailure' });
      expect(await harness.relay()).toMatchObject({ published: 0 });
      expect(harness.alarms).toEqual([`payment_to_review ${id}`]);
      await harness.relay();
      expect(harness.alarms).toHaveLength(1);
      harness.restart();
      await harness.relay();
      expect(harness.alarms).toHaveLength(2);
    });

    test('are raised even if the record is parked because the first transition of the payment is missing', async () => {
      const harness = new RelayHarness([review]);
      expect(await harness.relay()).toMatchObject({ parked: 1 });
      expect(harness.alarms).toEqual([`payment_to_review ${id}`]);
    });
  });

  test('parks and reports a record that it cannot process because of a bug', async () => {
    const [first, outcome] = chains(1) as [Transition, Transition];
    const harness = new RelayHarness([first, outcome]);
    const broken = { ...outcome, payment: { ...outcome.payment, id: undefined } } as unknown as Transition;
    harness.records[1] = {
      position: 'x',
      whole: '{}',
      content: { kind: 'transition', transition: { ...broken, first: first.first } as Transition },
    };
    expect(await harness.relay()).toMatchObject({ parked: 1 });
    expect(harness.parked[0]).toMatchObject({ reason: 'unexpected', detail: 'TypeError' });
    expect(harness.reported).toHaveLength(1);
  });

  test('reads the first transition once for all outcomes of a payment in a batch', async () => {
    const [first, completed] = chains(1) as [Transition, Transition];
    const harness = new RelayHarness([first, completed]);
    const again = harness.records[1] as StreamRecord;
    let reads = 0;
    const reader = { ...NO_ORDERS, readTransition: async () => (reads++, first) };
    await harness.relayWith({ transitions: reader }, [again, { ...again, position: 'y' }]);
    expect(reads).toBe(1);
  });

  test('publishes the events before the first record whose first transition cannot be read now', async () => {
    const harness = new RelayHarness();
    const reader = {
      ...NO_ORDERS,
      readTransition: async ({ paymentId }: { paymentId: string }) => {
        if (paymentId === harness.ledger[1]?.payment.id) throw new RetryableError('store_unavailable', 'not now');
        return harness.ledger[0];
      },
    };
    expect(await harness.relayWith({ transitions: reader })).toMatchObject({
      published: 1,
      redeliverFrom: harness.records[3]?.position,
    });
  });

  test('reads no further group of ten records after a failed read, and neither publishes nor parks the records after the failed one', async () => {
    const harness = new RelayHarness(chains(30));
    const [first, unread, later] = harness.ledger.slice(30) as [Transition, Transition, Transition];
    const poison: StreamRecord = { position: 'x', whole: '{}', content: { kind: 'unreadable', detail: 'type' } };
    const records = harness.records.slice(30);
    const asked = new Set<string>();
    const transitions = {
      ...NO_ORDERS,
      readTransition: async (place: TransitionPlace) => {
        asked.add(place.paymentId);
        if (place.paymentId === unread.payment.id) throw new RetryableError('store_unavailable', 'not now');
        return harness.store.ledger.readTransition(place);
      },
    };
    const relayed = await harness.relayWith({ transitions }, records.toSpliced(2, 0, poison));
    expect(relayed).toMatchObject({ published: 1, parked: 0, redeliverFrom: records[1]?.position });
    expect(harness.bus.published.map(({ event }) => event.data.object['id'])).toEqual([first.payment.id]);
    expect(harness.parked).toEqual([]);
    expect(asked).toContain(later.payment.id);
    expect(asked.size).toBe(9);
  });

  test('publishes events again if the response of the bus is ambiguous', async () => {
    const harness = new RelayHarness();
    let calls = 0;
    const publisher = {
      publish: async (events: Parameters<typeof harness.bus.publish>[0]) => {
        calls += 1;
        const outcomes = await harness.bus.publish(events);
        if (calls === 1) throw new AmbiguousError('bus_ambiguous', 'no response');
        return outcomes;
      },
    };
    expect(await harness.relayWith({ publisher })).toMatchObject({ published: 2 });
    expect(new Set(harness.publishedIds)).toEqual(new Set(harness.expected));
  });

  test.each([
    [3, [1, 1, 1, 1, 1]],
    [5, [2, 2, 1]],
  ])('fills each call up to the size limit of the bus: each description is 1/%i of the limit', async (parts, calls) => {
    const [first, ...outcomes] = chains(1) as [Transition, ...Transition[]];
    const large = { ...first, first: { ...first.first, description: 'x'.repeat(MAX_BYTES / parts) } } as Transition;
    const harness = new RelayHarness([large, ...outcomes]);
    const record = harness.records[1] as StreamRecord;
    const transitions = {
      readTransition: async ({ sequence }: TransitionPlace) => [large, ...outcomes][sequence - 1],
      readOrderTransition: async () => undefined,
    };
    const records = [0, 1, 2, 3, 4].map((index) => ({ ...record, position: String(index) }));
    await harness.relayWith({ transitions }, records);
    // Each event contains the description twice: in the payment and in the object.
    expect(harness.bus.calls.map((ids) => ids.length)).toEqual(calls);
  });
});
