/** Tests the guarantee "published outcomes". */
import { describe, expect, test } from '@jest/globals';
import type { RepublishRequest } from '../../lambdas/events/contract.ts';
import { readLedgerEvent } from '../../lambdas/events/use/ledger-events.ts';
import { republishLostEventsJob, republishSince } from '../../lambdas/events/use/republish-lost-events.ts';
import type { JobMarks } from '../../lambdas/jobs/use/job-marks.ts';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { ProcessRecords } from '../../lambdas/once/process-records.ts';
import { LedgerChains } from '../../lambdas/orders/store/ledger-chains.ts';
import { nextTransition } from '../../lambdas/payments/domain/transition.ts';
import { chainOf } from '../../lambdas/payments/use/payment-chain.ts';
import { positionAt, timeOf } from '../../lambdas/payments/use/transition-reader.ts';
import { projectEvent } from '../../lambdas/views/use/project-event.ts';
import { ProjectedEvents } from '../../lambdas/views/use/projected-events.ts';
import { sweepJob } from '../jobs/sweep-job.ts';
import { outcomeTransition, paymentIdFor, pendingTransition } from '../payments/payment-fixtures.ts';
import { RUN, requestedAt } from '../support/causes.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { whole } from '../support/slice.ts';
import { MemoryViews } from '../views/memory-views.ts';
import { Stores } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';
import { MemoryEventBus } from './memory-event-bus.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const NOON = Date.UTC(2026, 2, 1, 12);

class LostEventsApiHarness {
  readonly clock = new SimulatedClock(NOON);
  readonly bus = new MemoryEventBus();
  readonly views = new MemoryViews();
  /** Counts queries of the outcome index. */
  queries = 0;
  readonly #stores = new Stores(this.clock);
  readonly marks = this.#stores.jobMarks;
  completeMs = Number.POSITIVE_INFINITY;
  readonly beyondReach: (readonly [number, number])[] = [];
  readonly reported: unknown[] = [];
  readonly late: number[] = [];
  readonly parked: RepublishRequest[] = [];
  isParkingAway = false;
  readonly alarms: string[] = [];
  readonly alarmed = new ProcessRecords<true>();
  /** This code does not know the format of this payment. */
  unreadable: string | undefined;
  /** In the projector's queue. */
  queued = 0;
  #payments = 0;

  /** Does not publish the event. */
  complete(capturedMinor = 1000): void {
    this.#payments += 1;
    const first = pendingTransition(paymentIdFor(`lost-${this.#payments}`));
    const { type, payment, postings } = outcomeTransition(first, {
      kind: 'succeeded',
      chargeId: 'ch_1',
      capturedMinor,
    });
    const outcome = nextTransition(
      systemDigest,
      chainOf([first]),
      { type, payment, postings },
      requestedAt(this.clock.nowMs()),
    );
    void this.#stores.write([first, outcome]);
  }

  /** Also updates the length of the projector's queue. */
  async catchUp(untilMs: number, fromMs = NOON - DAY_MS): Promise<void> {
    const { ledger } = this.#stores;
    const { outcomes } = await ledger.outcomesAfter(positionAt(fromMs), untilMs, 10_000);
    for (const { place } of outcomes) {
      const event = await readLedgerEvent({ transitions: ledger, digest: systemDigest }, place);
      invariant(event !== undefined, 'the event is not in the Ledger');
      await projectEvent({ runner: idempotentRunner, views: this.views }, event);
    }
    this.queued = this.#payments - outcomes.length;
  }

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
    const client = this.#stores.database.clientWith((command, apply) => {
      if (command === 'QueryCommand') this.queries += 1;
      return apply();
    });
    const stored = new LedgerChains(client, TABLES, { clock: this.clock, entropy: countingEntropy() });
    return republishLostEventsJob({
      transitions: {
        outcomesAfter: stored.outcomesAfter.bind(stored),
        readOrderTransition: (place) => stored.readOrderTransition(place),
        readTransition: async (place) => {
          if (place.paymentId === this.unreadable) throw new TypeError('the format is unknown to this code');
          return stored.readTransition(place);
        },
      },
      processed: new ProjectedEvents(changes.views ?? this.views),
      queued: async () => this.queued,
      publisher: this.bus,
      marks: this.marks,
      completeUntilMs: async () => this.completeMs,
      runner: idempotentRunner,
      digest: systemDigest,
      clock: this.clock,
      entropy: countingEntropy(),
      report: (error) => this.reported.push(error),
      beyondReach: (...minutes) => this.beyondReach.push(minutes),
      late: (ageMs) => this.late.push(ageMs),
      park: async (range) => {
        if (this.isParkingAway) throw new RetryableError('queue_away', 'the queue accepts no messages');
        this.parked.push(range);
      },
      review: { alarm: (id) => this.alarms.push(id), alarmed: this.alarmed },
    });
  }

  /** The job has handled all events up to this time, in Unix milliseconds. Undefined before the first run. */
  async mark(): Promise<number | undefined> {
    const mark = await this.marks.readMark('republish-events');
    return mark === undefined ? undefined : timeOf(mark);
  }
}

describe('the job that republishes lost events', () => {
  test('raises the alarm for a payment in review before it publishes the event, once per process', async () => {
    const harness = new LostEventsApiHarness();
    harness.complete();
    harness.complete(999);
    harness.clock.advance(10 * MINUTE_MS);
    harness.bus.trouble = () => ({ kind: 'not_now', code: 'InternalFailure' });
    await harness.run();
    await harness.run();
    expect(harness.bus.published).toEqual([]);
    expect(harness.alarms).toEqual([paymentIdFor('lost-2')]);
  });

  test('publishes once each event that the projector has not processed in time', async () => {
    const harness = new LostEventsApiHarness();
    harness.complete();
    harness.clock.advance(3 * MINUTE_MS);
    expect(await harness.run()).toMatchObject({ done: 0, failed: 0 });
    harness.clock.advance(MINUTE_MS);
    expect(await harness.run()).toMatchObject({ done: 1, failed: 0 });
    await harness.project();
    for (let run = 0; run < 10; run += 1) {
      harness.clock.advance(5 * MINUTE_MS);
      expect(await harness.run()).toMatchObject({ done: 0, failed: 0 });
    }
    expect(harness.bus.published).toHaveLength(1);
  });

  test('reports late events in every run while the relay is stopped', async () => {
    const harness = new LostEventsApiHarness();
    await harness.run();
    for (let run = 1; run <= 3; run += 1) {
      harness.complete();
      harness.clock.advance(5 * MINUTE_MS);
      await harness.run();
      expect(harness.late).toHaveLength(run);
      expect(harness.late.at(-1)).toBeGreaterThanOrEqual(5 * MINUTE_MS);
      await harness.project();
    }
    harness.clock.advance(5 * MINUTE_MS);
    await harness.run();
    expect(harness.late).toHaveLength(3);
  });

  test('republishes nothing while the projector is down for an hour, or while it catches up', async () => {
    const harness = new LostEventsApiHarness();
    await harness.run();
    const before = await harness.mark();
    for (let minute = 0; minute < 60; minute += 1) {
      for (let payment = 0; payment < 2; payment += 1) {
        harness.complete();
        harness.queued += 1;
      }
      harness.clock.advance(MINUTE_MS);
      if (minute % 5 === 4) expect(await harness.run()).toMatchObject({ done: 0, failed: 0 });
    }
    expect(await harness.mark()).toBe(before);
    for (let minute = 10; minute <= 60; minute += 10) {
      await harness.catchUp(NOON + minute * MINUTE_MS);
      expect(await harness.run()).toMatchObject({ done: 0, failed: 0 });
    }
    harness.clock.advance(5 * MINUTE_MS);
    await harness.run();
    expect(harness.bus.published).toEqual([]);
    expect(await harness.mark()).toBe(harness.clock.nowMs() - 15 * MINUTE_MS);
  });

  test('reads the Views only for the first page of an outage while it waits for the projector', async () => {
    const harness = new LostEventsApiHarness();
    await harness.run();
    for (let payment = 0; payment < 150; payment += 1) harness.complete();
    harness.queued = 150;
    harness.clock.advance(10 * MINUTE_MS);
    let reads = 0;
    const views = {
      read: (...asked: Parameters<MemoryViews['read']>) => {
        reads += 1;
        return harness.views.read(...asked);
      },
    };
    await sweepJob(harness.job({ views }), { nowMs: harness.clock.nowMs() });
    expect(reads).toBe(101);
  });

  test('publishes lost events between processed ones in time if they are not in the projector’s queue', async () => {
    const harness = new LostEventsApiHarness();
    await harness.run();
    for (let payment = 0; payment < 10; payment += 1) harness.complete();
    await harness.catchUp(harness.clock.nowMs() + 1);
    for (let payment = 0; payment < 4; payment += 1) harness.complete();
    // The queue contains messages of later payments.
    harness.queued = 50;
    harness.clock.advance(4 * MINUTE_MS);
    expect(await harness.run()).toMatchObject({ done: 4 });
    await harness.project();
    harness.queued = 5;
    for (let payment = 0; payment < 30; payment += 1) harness.complete();
    harness.clock.advance(20 * MINUTE_MS);
    expect(await harness.run()).toMatchObject({ done: 30 });
  });

  test('publishes the lost events of a busy minute in time although the queue is never empty', async () => {
    const { lost, later } = whole({ lost: 300, later: 200 }, { slice: { lost: 120, later: 80 } });
    const harness = new LostEventsApiHarness();
    await harness.run();
    for (let payment = 0; payment < lost; payment += 1) harness.complete();
    harness.clock.advance(MINUTE_MS);
    const lostUntilMs = harness.clock.nowMs();
    for (let payment = 0; payment < later; payment += 1) harness.complete();
    harness.clock.advance(4 * MINUTE_MS);
    await harness.catchUp(harness.clock.nowMs(), lostUntilMs);
    // The queue contains messages of the last minutes.
    harness.queued = 0.75 * later;
    await harness.run();
    expect(harness.bus.published).toHaveLength(lost);
  });

  test('publishes an event once if the projector has not processed it within five hours, regardless of the queue length', async () => {
    const harness = new LostEventsApiHarness();
    await harness.run();
    harness.complete();
    harness.queued = 1_000;
    harness.clock.advance(4 * HOUR_MS);
    expect(await harness.run()).toMatchObject({ done: 0 });
    harness.clock.advance(HOUR_MS + MINUTE_MS);
    expect(await harness.run()).toMatchObject({ done: 1 });
    expect(await harness.run()).toMatchObject({ done: 0 });
  });

  test('covers the last day in its first run', async () => {
    const harness = new LostEventsApiHarness();
    harness.complete();
    harness.clock.advance(MINUTE_MS);
    harness.complete();
    harness.clock.advance(DAY_MS - MINUTE_MS);
    expect(await harness.run()).toMatchObject({ done: 2, failed: 0 });
    const late = new LostEventsApiHarness();
    late.complete();
    late.clock.advance(DAY_MS + 1);
    expect(await late.run()).toMatchObject({ done: 0, failed: 0 });
  });

  test('makes at most 100 queries in an hour without outcomes, even after a quiet week', async () => {
    const harness = new LostEventsApiHarness();
    await harness.run();
    for (const quietMs of [0, 7 * DAY_MS]) {
      harness.clock.advance(quietMs);
      if (quietMs > 0) await harness.run();
      const before = harness.queries;
      for (let run = 0; run < 12; run += 1) {
        harness.clock.advance(5 * MINUTE_MS);
        await harness.run();
      }
      expect(harness.queries - before).toBeGreaterThan(0);
      expect(harness.queries - before).toBeLessThanOrEqual(100);
    }
  });

  test('catches up after a one-week outage with at most 16 queries for each calendar day and 8 for each hundred outcomes', async () => {
    const daily = whole(100, { slice: 20 });
    const harness = new LostEventsApiHarness();
    await harness.run();
    for (let day = 0; day < 7; day += 1) {
      for (let payments = 0; payments < daily; payments += 1) harness.complete();
      harness.clock.advance(DAY_MS);
    }
    const before = harness.queries;
    expect(await harness.run({ limit: 1 })).toMatchObject({ done: 7 * daily, failed: 0 });
    expect(harness.queries - before).toBeLessThanOrEqual(8 * (2 * 8 + Math.ceil((7 * daily) / 100)));
  });

  test('loses nothing if relay, bus and job are down for a week', async () => {
    const harness = new LostEventsApiHarness();
    await harness.run();
    for (let day = 0; day < 7; day += 1) {
      harness.complete();
      harness.clock.advance(DAY_MS);
    }
    expect(await harness.run()).toMatchObject({ done: 7, failed: 0 });
    expect(harness.beyondReach).toEqual([]);
  });

  test('returns to a failed page even if later pages succeeded and the next runs are late', async () => {
    const harness = new LostEventsApiHarness();
    await harness.run();
    const before = await harness.mark();
    // Creates one more event than fits on a page, all in the same millisecond.
    for (let payments = 0; payments <= 100; payments += 1) harness.complete();
    harness.clock.advance(2 * MINUTE_MS);
    harness.complete();
    harness.clock.advance(HOUR_MS);
    const refused = new Set<string>();
    harness.bus.trouble = (id) => {
      if (refused.size === 0) refused.add(id);
      return refused.has(id) ? { kind: 'not_now', code: 'ThrottlingException' } : undefined;
    };
    // The job published the second page. Of the twenty events that were sent together, it published all but the refused
    // one.
    expect(await harness.run()).toMatchObject({ done: 19 + 2, failed: 1 });
    expect(await harness.mark()).toBe(before);
    harness.clock.advance(3 * DAY_MS);
    harness.bus.trouble = () => undefined;
    await harness.project();
    expect(await harness.run()).toMatchObject({ done: 81, failed: 0 });
    expect(new Set(harness.bus.published.map(({ event }) => event.id)).size).toBe(102);
    expect(await harness.mark()).toBe(harness.clock.nowMs() - 15 * MINUTE_MS);
  });

  test('does not move its mark past times for which a writer with clock skew may still write rows', async () => {
    const harness = new LostEventsApiHarness();
    harness.clock.advance(HOUR_MS);
    await harness.run();
    await harness.run();
    expect(await harness.mark()).toBe(harness.clock.nowMs() - 15 * MINUTE_MS);
    harness.clock.advance(-10 * MINUTE_MS);
    harness.complete();
    harness.clock.advance(10 * MINUTE_MS);
    expect(await harness.run()).toMatchObject({ done: 1 });
  });

  test('does not move its mark past times for which rows may still be copied to the Ledger', async () => {
    const harness = new LostEventsApiHarness();
    harness.completeMs = harness.clock.nowMs();
    harness.clock.advance(3 * HOUR_MS);
    await harness.run();
    await harness.run();
    expect(await harness.mark()).toBe(harness.completeMs);
    // A row with a time of two hours ago is copied only now.
    harness.clock.advance(-2 * HOUR_MS);
    harness.complete();
    harness.clock.advance(2 * HOUR_MS);
    expect(await harness.run()).toMatchObject({ done: 1 });
  });

  test('does not move its mark past a row that is copied while a run works on an earlier read', async () => {
    const harness = new LostEventsApiHarness();
    harness.completeMs = harness.clock.nowMs();
    harness.clock.advance(3 * HOUR_MS);
    await harness.run();
    const job = harness.job();
    const run = { ...RUN, scheduledForMs: harness.clock.nowMs() };
    const page = await job.page(undefined, 100, run);
    harness.clock.advance(-2 * HOUR_MS);
    harness.complete();
    harness.clock.advance(2 * HOUR_MS);
    harness.completeMs = harness.clock.nowMs();
    for (const { thing } of page.items) await job.handle(thing, { ...run, deadlineMs: Number.POSITIVE_INFINITY });
    expect(await harness.run()).toMatchObject({ done: 1 });
  });

  test('publishes an event that was copied behind its mark, once the mark is moved back', async () => {
    const harness = new LostEventsApiHarness();
    harness.clock.advance(2 * HOUR_MS);
    await harness.run();
    await harness.run();
    harness.clock.advance(-HOUR_MS);
    harness.complete();
    const sinceMs = harness.clock.nowMs();
    harness.clock.advance(HOUR_MS);
    expect(await harness.run()).toMatchObject({ done: 0 });
    let isRunning = true;
    const marks: JobMarks = {
      readMark: async (job) => {
        const mark = await harness.marks.readMark(job);
        if (isRunning) harness.clock.advance(5 * MINUTE_MS);
        if (isRunning) await harness.run();
        isRunning = false;
        return mark;
      },
      moveMark: (...moved) => harness.marks.moveMark(...moved),
    };
    for (const ms of [sinceMs, sinceMs + 1]) {
      expect(await republishSince(marks, ms, harness.clock.nowMs())).toBe(true);
      expect(await harness.mark()).toBe(sinceMs);
    }
    expect(await harness.run()).toMatchObject({ done: 1, failed: 0 });
  });

  test('refuses to move its mark back beyond the period that it republishes', async () => {
    const harness = new LostEventsApiHarness();
    await harness.run();
    harness.clock.advance(14 * DAY_MS - 90 * MINUTE_MS);
    await harness.run();
    const before = await harness.mark();
    expect(await republishSince(harness.marks, NOON, harness.clock.nowMs())).toBe(false);
    expect(await harness.mark()).toBe(before);
  });

  test('does not move its mark past the present in a run that is scheduled for a future time', async () => {
    const harness = new LostEventsApiHarness();
    await harness.run({ ...RUN, scheduledForMs: NOON + 2 * DAY_MS });
    harness.complete();
    harness.clock.advance(10 * MINUTE_MS);
    expect(await harness.run()).toMatchObject({ done: 1 });
  });

  test('skips a period whose events consumers may no longer deduplicate, reports it once, and continues after it', async () => {
    const harness = new LostEventsApiHarness();
    await harness.run();
    const markMs = await harness.mark();
    harness.clock.advance(20 * DAY_MS);
    harness.complete();
    harness.clock.advance(HOUR_MS);
    const reachMs = harness.clock.nowMs() - 14 * DAY_MS + HOUR_MS;
    expect(await harness.run()).toMatchObject({ done: 1, failed: 1 });
    expect(harness.beyondReach).toEqual([[markMs, reachMs]]);
    await harness.project();
    expect(await harness.run()).toMatchObject({ done: 0, failed: 0 });
    expect(harness.beyondReach).toHaveLength(1);
  });

  test('continues from its cursor in pages of any size, and returns the same results for a repeated page', async () => {
    const harness = new LostEventsApiHarness();
    harness.complete();
    harness.clock.advance(HOUR_MS);
    harness.complete();
    harness.clock.advance(HOUR_MS);
    const job = harness.job();
    const asked = { ...RUN, scheduledForMs: harness.clock.nowMs() };
    expect(await job.page(undefined, 3, asked)).toEqual(await job.page(undefined, 3, asked));
    expect(await harness.run({ limit: 1 })).toMatchObject({ done: 2, failed: 0 });
  });

  test('publishes nothing if a page cannot be compared, and leaves that page for the next run', async () => {
    const harness = new LostEventsApiHarness();
    harness.complete();
    harness.clock.advance(30 * MINUTE_MS);
    const views = { read: () => Promise.reject(new RetryableError('gone', 'no')) };
    expect(await sweepJob(harness.job({ views }), { nowMs: harness.clock.nowMs() })).toMatchObject({
      done: 0,
      failed: 1,
    });
    expect(harness.bus.published).toEqual([]);
    expect(await harness.run()).toMatchObject({ done: 1, failed: 0 });
  });

  test('continues after events that cannot be read or are always refused, and counts and reports each of them', async () => {
    const harness = new LostEventsApiHarness();
    harness.unreadable = paymentIdFor('lost-1');
    harness.complete();
    harness.complete();
    harness.complete();
    const refused: string[] = [];
    harness.bus.trouble = (id) => {
      if (refused.length === 0) refused.push(id);
      return refused.includes(id) ? { kind: 'refused', code: 'InvalidArgument' } : undefined;
    };
    harness.clock.advance(HOUR_MS);
    expect(await harness.run()).toMatchObject({ done: 1, failed: 2 });
    expect(harness.reported).toHaveLength(2);
    expect(await harness.mark()).toBe(harness.clock.nowMs() - 15 * MINUTE_MS);
    expect(harness.parked).toEqual([{ sinceMs: NOON, untilMs: NOON + 1 }]);
  });

  test('parks the period of unpublishable events once, before the mark passes the period', async () => {
    const harness = new LostEventsApiHarness();
    harness.complete();
    harness.clock.advance(MINUTE_MS);
    harness.complete();
    harness.clock.advance(MINUTE_MS);
    harness.complete();
    const bad = ['lost-1', 'lost-3'].map((name) => paymentIdFor(name).slice('pay_'.length));
    harness.bus.trouble = (id) =>
      bad.some((each) => id.includes(each)) ? { kind: 'refused', code: 'MalformedDetail' } : undefined;
    harness.clock.advance(10 * MINUTE_MS);
    expect(await harness.run()).toMatchObject({ done: 1, failed: 2 });
    await harness.project();
    // Nothing is parked yet, because the next run retries the events.
    expect(harness.parked).toEqual([]);
    harness.clock.advance(HOUR_MS);
    harness.isParkingAway = true;
    expect(await harness.run()).toMatchObject({ failed: 1 });
    expect(await harness.mark()).toBeLessThanOrEqual(NOON);
    harness.isParkingAway = false;
    expect(await harness.run()).toMatchObject({ done: 0, failed: 2 });
    const period = [{ sinceMs: NOON, untilMs: NOON + 2 * MINUTE_MS + 1 }];
    expect(harness.parked).toEqual(period);
    expect(await harness.mark()).toBeGreaterThan(NOON + 2 * MINUTE_MS);
    await harness.run();
    expect(harness.parked).toEqual(period);
  });

  test('parks no events of later pages while a page waits, because each run would park them again', async () => {
    const harness = new LostEventsApiHarness();
    await harness.run();
    // The bus refuses the last event permanently.
    for (let payments = 0; payments < 100; payments += 1) harness.complete();
    harness.clock.advance(2 * MINUTE_MS);
    harness.complete();
    const waits = paymentIdFor('lost-1').slice('pay_'.length);
    const bad = paymentIdFor('lost-101').slice('pay_'.length);
    harness.bus.trouble = (id) => {
      if (id.includes(waits)) return { kind: 'not_now', code: 'ThrottlingException' };
      return id.includes(bad) ? { kind: 'refused', code: 'MalformedDetail' } : undefined;
    };
    harness.clock.advance(HOUR_MS);
    const before = await harness.mark();
    for (let run = 0; run < 4; run += 1) {
      await harness.run();
      await harness.project();
      harness.clock.advance(5 * MINUTE_MS);
    }
    expect(await harness.mark()).toBe(before);
    expect(harness.parked).toEqual([]);
    harness.bus.trouble = (id) => (id.includes(bad) ? { kind: 'refused', code: 'MalformedDetail' } : undefined);
    await harness.run();
    expect(harness.parked).toHaveLength(1);
  });

  test('stops within a page when its time is over, counts the finished work, and continues there in the next run', async () => {
    const harness = new LostEventsApiHarness();
    for (let payments = 0; payments < 50; payments += 1) harness.complete();
    harness.clock.advance(10 * MINUTE_MS);
    const job = harness.job();
    const { items } = await job.page(positionAt(NOON), 1, { ...RUN, scheduledForMs: harness.clock.nowMs() });
    const step = items[0]?.thing;
    invariant(step?.kind === 'part' && step.outcomes.length === 50, 'the outcomes span several pages');
    harness.bus.trouble = () => {
      harness.clock.advance(MINUTE_MS / 20);
      return undefined;
    };
    const page = { ...RUN, scheduledForMs: harness.clock.nowMs(), deadlineMs: harness.clock.nowMs() + MINUTE_MS };
    expect(await job.handle(step, page)).toEqual({ done: 20, left: 0, failed: 1 });
    await harness.project();
    harness.bus.trouble = () => undefined;
    expect(await job.handle(step, { ...page, deadlineMs: harness.clock.nowMs() + MINUTE_MS })).toMatchObject({
      done: 30,
    });
    expect(harness.bus.published).toHaveLength(50);
  });
});
