import { describe, expect, test } from '@jest/globals';
import { eventOf } from '../../lambdas/events/domain/event.ts';
import { type RepublishRange, republishRange } from '../../lambdas/events/use/republish-range.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import type { TransitionPlace } from '../../lambdas/payments/domain/transition.ts';
import { detailsOf, nextTransition, type Transition } from '../../lambdas/payments/domain/transition.ts';
import { chainOf } from '../../lambdas/payments/use/payment-chain.ts';
import type { ProcessedEvents } from '../../lambdas/payments/use/transition-reader.ts';
import { outcomeTransition, paymentIdFor, pendingTransition } from '../payments/payment-fixtures.ts';
import { requestedAt } from '../support/causes.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { Stores } from '../world/stores.ts';
import { MemoryEventBus } from './memory-event-bus.ts';

const MINUTE_MS = 60_000;
const NOON = Date.UTC(2026, 2, 1, 12);

function completedAfter(minutes: number): readonly [Transition, Transition] {
  const first = pendingTransition(paymentIdFor(`republish-${minutes}`));
  const { type, payment, postings } = outcomeTransition(first, { kind: 'succeeded', chargeId: 'ch_1' });
  return [
    first,
    nextTransition(
      systemDigest,
      chainOf([first]),
      { type, payment, postings },
      requestedAt(NOON + minutes * MINUTE_MS),
    ),
  ];
}

function harness(minutes: readonly number[], processed?: ProcessedEvents, broken: readonly string[] = []) {
  const payments = minutes.map(completedAfter);
  const clock = new SimulatedClock(NOON + 60 * MINUTE_MS);
  const bus = new MemoryEventBus();
  const stores = new Stores(clock);
  void stores.write(payments.flat());
  const stored = stores.ledger;
  const transitions = {
    outcomesAfter: stored.outcomesAfter.bind(stored),
    readOrderTransition: stored.readOrderTransition.bind(stored),
    readTransition: async (place: TransitionPlace) => {
      if (broken.includes(place.paymentId)) throw new TypeError('this code does not know the format');
      return stored.readTransition(place);
    },
  };
  const reported: unknown[] = [];
  const ids = payments.map(([first, outcome]) => eventOf(systemDigest, outcome, detailsOf(first)).event.id);
  const republish = (range: Partial<RepublishRange>) =>
    republishRange(
      {
        publisher: bus,
        transitions,
        runner: idempotentRunner,
        digest: systemDigest,
        clock,
        entropy: countingEntropy(),
        report: (error) => void reported.push(error),
        ...(processed === undefined ? {} : { processed }),
      },
      { sinceMs: NOON, untilMs: NOON + 30 * MINUTE_MS, deadlineMs: clock.nowMs() + MINUTE_MS, ...range },
    );
  return {
    bus,
    clock,
    ids,
    republish,
    payments,
    reported,
    published: () => bus.published.map(({ event }) => event.id),
  };
}

describe('republishing a range', () => {
  test('publishes all outcomes of the range, under their original ids', async () => {
    const { republish, published, ids } = harness([0, 3, 29, 30]);
    expect(await republish({})).toEqual({ found: 3, published: 3 });
    expect(published()).toEqual(ids.slice(0, 3));
  });

  test('publishes the events that were not processed, and skips all others', async () => {
    const processed: ProcessedEvents = {
      unprocessed: async (places) => places.filter((place) => 'paymentId' in place && place.paymentId === lost),
    };
    const made = harness([1, 2, 3], processed);
    const lost = made.payments[1]?.[0].payment.id;
    expect(await made.republish({})).toEqual({ found: 3, published: 1 });
    expect(made.published()).toEqual([made.ids[1]]);
  });

  test('stops when its time is over and returns a cursor, so that repeated calls complete any range', async () => {
    const { republish, clock, published, ids } = harness([0, 3]);
    const stopped = await republish({ deadlineMs: clock.nowMs() });
    expect(stopped).toEqual({ found: 0, published: 0, nextMs: NOON });
    expect(await republish({ sinceMs: stopped.nextMs ?? 0 })).toEqual({ found: 2, published: 2 });
    expect(published()).toEqual(ids);
  });

  test('skips and reports events that cannot be read, and publishes all others', async () => {
    const poison = completedAfter(3)[0].payment.id;
    const { republish, ids, published, reported } = harness([0, 3, 7], undefined, [poison]);
    expect(await republish({})).toEqual({ found: 3, published: 2, unpublishable: 1 });
    expect(published()).toEqual([ids[0], ids[2]]);
    expect(reported).toEqual([expect.any(TypeError)]);
  });

  test('skips events that the bus will never accept', async () => {
    const { republish, bus, ids, published } = harness([0, 3, 7]);
    bus.trouble = (id) => (id === ids[1] ? { kind: 'refused', code: 'MalformedDetail' } : undefined);
    expect(await republish({})).toEqual({ found: 3, published: 2, unpublishable: 1 });
    expect(published()).toEqual([ids[0], ids[2]]);
  });

  test('continues at the page that the bus did not accept', async () => {
    const { republish, bus, ids, published } = harness([0, 3, 7]);
    bus.trouble = (id) => (id === ids[1] ? { kind: 'not_now', code: 'ThrottlingException' } : undefined);
    expect(await republish({ sinceMs: NOON + MINUTE_MS })).toEqual({
      found: 2,
      published: 1,
      nextMs: NOON + MINUTE_MS,
    });
    bus.trouble = () => undefined;
    expect(await republish({ sinceMs: NOON + MINUTE_MS })).toEqual({ found: 2, published: 2 });
    expect(new Set(published())).toEqual(new Set(ids.slice(1)));
  });
});
