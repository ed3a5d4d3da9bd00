import { describe, expect, test } from '@jest/globals';
import { republishLostEvents } from '../../lambdas/events/use/republish-lost-events.ts';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { nextTransition, type Transition } from '../../lambdas/payments/domain/transition.ts';
import { projectEvent } from '../../lambdas/views/use/project-event.ts';
import { ProjectedEvents } from '../../lambdas/views/use/seen-events.ts';
import { MemoryJobMarks } from '../jobs/memory-job-marks.ts';
import { MemoryTransitions } from '../payments/memory-transitions.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { outcomeTransition, paymentIdFor, pendingTransition } from '../support/payment-fixtures.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { sweepJob } from '../support/sweep-job.ts';
import { MemoryViews } from '../views/memory-views.ts';
import { MemoryEventBus } from './memory-event-bus.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const NOON = Date.UTC(2026, 2, 1, 12);

class LostEventsDesk {
  readonly clock = new SimulatedClock(NOON);
  readonly bus = new MemoryEventBus();
  readonly views = new MemoryViews();
  readonly marks = new MemoryJobMarks();
  readonly beyondReach: (readonly [number, number])[] = [];
  readonly reported: unknown[] = [];
  /** A payment in a form that this code does not know. */
  unreadable: string | undefined;
  readonly #transitions: Transition[] = [];
  #payments = 0;

  /** The creation time of the Ledger. */
  emptyBeforeMs = 0;

  /** A payment completes now, and its event is not published. */
  complete(): void {
    this.#payments += 1;
    const first = pendingTransition(paymentIdFor(`lost-${this.#payments}`));
    const { type, payment, postings } = outcomeTransition(first, { kind: 'succeeded', chargeId: 'ch_1' });
    const outcome = nextTransition(systemDigest, first, { type, payment, postings }, this.clock.nowMs());
    this.#transitions.push(first, outcome);
  }

  /** The projector processes all events on the bus. */
  async project(): Promise<void> {
    for (const event of this.bus.published) await projectEvent({ runner: idempotentRunner, views: this.views }, event);
  }

  run(changes: { readonly limit?: number; readonly scheduledForMs?: number } = {}) {
    const { limit, scheduledForMs } = changes;
    return sweepJob(this.job(), {
      nowMs: scheduledForMs ?? this.clock.nowMs(),
      ...(limit === undefined ? {} : { limit }),
    });
  }

  job(changes: { readonly views?: Pick<MemoryViews, 'read'> } = {}) {
    const stored = new MemoryTransitions(() => this.#transitions);
    return republishLostEvents({
      transitions: {
        outcomesOfMinute: (minuteMs) => stored.outcomesOfMinute(minuteMs),
        readTransition: async (place) => {
          if (place.paymentId === this.unreadable) throw new TypeError('not of a form that this code knows');
          return stored.readTransition(place);
        },
      },
      seen: new ProjectedEvents(changes.views ?? this.views),
      publisher: this.bus,
      marks: this.marks,
      age: { emptyBeforeMs: async () => this.emptyBeforeMs },
      runner: idempotentRunner,
      digest: systemDigest,
      clock: this.clock,
      entropy: countingEntropy(),
      report: (error) => this.reported.push(error),
      beyondReach: (...minutes) => this.beyondReach.push(minutes),
    });
  }

  mark(): Promise<number | undefined> {
    return this.marks.readMark('republish-events');
  }
}

describe('publishing again what was lost', () => {
  test('takes what the projector has not seen, once it had time, and takes it once', async () => {
    const desk = new LostEventsDesk();
    desk.complete();
    desk.clock.advance(3 * MINUTE_MS);
    expect(await desk.run()).toMatchObject({ done: 0, failed: 0 });
    desk.clock.advance(MINUTE_MS);
    expect(await desk.run()).toMatchObject({ done: 1, failed: 0 });
    await desk.project();
    for (let run = 0; run < 10; run += 1) {
      desk.clock.advance(5 * MINUTE_MS);
      expect(await desk.run()).toMatchObject({ done: 0, failed: 0 });
    }
    expect(desk.bus.published).toHaveLength(1);
  });

  test('begins with a Ledger that is younger than a day where that begins', async () => {
    const desk = new LostEventsDesk();
    desk.emptyBeforeMs = desk.clock.nowMs();
    desk.complete();
    desk.clock.advance(30 * MINUTE_MS);
    expect(await desk.run()).toMatchObject({ done: 1, failed: 0 });
    const hour = new LostEventsDesk();
    hour.emptyBeforeMs = hour.clock.nowMs() - 60 * MINUTE_MS;
    const { items } = await hour.job().page(undefined, 100, { scheduledForMs: hour.clock.nowMs() });
    expect(items).toHaveLength(1 + 60 - 3);
  });

  test('loses nothing in an outage of a week, of relay, bus and sweep', async () => {
    const desk = new LostEventsDesk();
    await desk.run();
    for (let day = 0; day < 7; day += 1) {
      desk.complete();
      desk.clock.advance(DAY_MS);
    }
    expect(await desk.run()).toMatchObject({ done: 7, failed: 0 });
    expect(desk.beyondReach).toEqual([]);
  });

  test('comes back to the minute that failed, though later ones went well and the next runs are late', async () => {
    const desk = new LostEventsDesk();
    await desk.run();
    desk.complete();
    const failing = desk.clock.nowMs();
    desk.clock.advance(2 * MINUTE_MS);
    desk.complete();
    desk.clock.advance(HOUR_MS);
    let refused = 0;
    desk.bus.trouble = () => {
      refused += 1;
      // The first event's three tries.
      return refused <= 3 ? { kind: 'not_now', code: 'ThrottlingException' } : undefined;
    };
    expect(await desk.run()).toMatchObject({ done: 1, failed: 1 });
    expect(await desk.mark()).toBe(failing);
    desk.clock.advance(3 * DAY_MS);
    await desk.project();
    expect(await desk.run()).toMatchObject({ done: 1, failed: 0 });
    expect(desk.bus.published).toHaveLength(2);
  });

  test('does not move its mark over minutes in which a writer with another clock may still write', async () => {
    const desk = new LostEventsDesk();
    desk.clock.advance(HOUR_MS);
    await desk.run();
    await desk.run();
    expect(await desk.mark()).toBe(desk.clock.nowMs() - 15 * MINUTE_MS);
    desk.clock.advance(-10 * MINUTE_MS);
    desk.complete();
    desk.clock.advance(10 * MINUTE_MS);
    expect(await desk.run()).toMatchObject({ done: 1 });
  });

  test('a run that is for a later time than now does not go beyond the present', async () => {
    const desk = new LostEventsDesk();
    await desk.run({ scheduledForMs: NOON + 2 * DAY_MS });
    desk.complete();
    desk.clock.advance(10 * MINUTE_MS);
    expect(await desk.run()).toMatchObject({ done: 1 });
  });

  test('reports minutes beyond the consumers’ retention once, and continues after them', async () => {
    const desk = new LostEventsDesk();
    await desk.run();
    const markMs = await desk.mark();
    desk.clock.advance(20 * DAY_MS);
    desk.complete();
    desk.clock.advance(HOUR_MS);
    const reachMs = desk.clock.nowMs() - 14 * DAY_MS + HOUR_MS;
    expect(await desk.run()).toMatchObject({ done: 1, failed: 1 });
    expect(desk.beyondReach).toEqual([[markMs, reachMs]]);
    await desk.project();
    expect(await desk.run()).toMatchObject({ done: 0, failed: 0 });
    expect(desk.beyondReach).toHaveLength(1);
  });

  test('goes on from its cursor in pages of any size, and a page that is read again finds the same', async () => {
    const desk = new LostEventsDesk();
    desk.complete();
    desk.clock.advance(HOUR_MS);
    desk.complete();
    desk.clock.advance(HOUR_MS);
    const job = desk.job();
    const asked = { scheduledForMs: desk.clock.nowMs() };
    expect(await job.page(undefined, 3, asked)).toEqual(await job.page(undefined, 3, asked));
    expect(await desk.run({ limit: 1 })).toMatchObject({ done: 2, failed: 0 });
  });

  test('a minute that cannot be compared is left to the next run, and nothing is published blindly', async () => {
    const desk = new LostEventsDesk();
    desk.complete();
    desk.clock.advance(30 * MINUTE_MS);
    const views = { read: () => Promise.reject(new RetryableError('gone', 'no')) };
    expect(await sweepJob(desk.job({ views }), { nowMs: desk.clock.nowMs() })).toMatchObject({ done: 0, failed: 1 });
    expect(desk.bus.published).toEqual([]);
    expect(await desk.run()).toMatchObject({ done: 1, failed: 0 });
  });

  test('is not blocked by events that are unreadable or refused permanently, and counts and reports each', async () => {
    const desk = new LostEventsDesk();
    desk.unreadable = paymentIdFor('lost-1');
    desk.complete();
    desk.complete();
    desk.complete();
    const refused: string[] = [];
    desk.bus.trouble = (id) => {
      if (refused.length === 0) refused.push(id);
      return refused.includes(id) ? { kind: 'refused', code: 'InvalidArgument' } : undefined;
    };
    desk.clock.advance(HOUR_MS);
    expect(await desk.run()).toMatchObject({ done: 1, failed: 2 });
    expect(desk.reported).toHaveLength(2);
    expect(await desk.mark()).toBe(desk.clock.nowMs() - 15 * MINUTE_MS);
  });

  test('stops in the midst of a minute when its time is over, counts what it did, and goes on there', async () => {
    const desk = new LostEventsDesk();
    for (let payments = 0; payments < 50; payments += 1) desk.complete();
    desk.clock.advance(10 * MINUTE_MS);
    const job = desk.job();
    const step = { kind: 'minute', minuteMs: NOON } as const;
    desk.bus.trouble = () => {
      desk.clock.advance(MINUTE_MS / 20);
      return undefined;
    };
    const page = { scheduledForMs: desk.clock.nowMs(), deadlineMs: desk.clock.nowMs() + MINUTE_MS };
    expect(await job.handle(step, page)).toEqual({ done: 20, left: 0, failed: 1 });
    await desk.project();
    desk.bus.trouble = () => undefined;
    expect(await job.handle(step, { ...page, deadlineMs: desk.clock.nowMs() + MINUTE_MS })).toMatchObject({ done: 30 });
    expect(desk.bus.published).toHaveLength(50);
  });
});
