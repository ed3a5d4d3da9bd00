import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { EventOf } from '../../lambdas/events/http/event-schemas.ts';
import { keepCommission } from '../../lambdas/follow-ups/keep-commission.ts';
import { releaseCommissionsJob } from '../../lambdas/follow-ups/release-commissions.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import type { Fact } from '../../lambdas/payments/domain/facts.ts';
import type { Transition } from '../../lambdas/payments/domain/transition.ts';
import { MemoryConsumerRecords } from '../once/memory-consumer-records.ts';
import { recordsOf } from '../support/consumer-world.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { surveyFaults } from '../support/fault-histories.ts';
import { Actor, FaultPlan } from '../support/fault-plan.ts';
import { chainOfPaid, disputed, eventsOfPaid, refunded } from '../support/paid-chain.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { sweepJob } from '../support/sweep-job.ts';
import { MemoryCommissions } from './memory-commissions.ts';

const LOCKED_MS = 30 * 24 * 60 * 60_000;
const METADATA = { affiliate: 'aff_7', order: 'o1' };
/** Paid, refunded in part, the rest refunded, that refund failed, and refunded again. */
const FACTS = [refunded('re_1', 400), refunded('re_2', 600), refunded('re_2', 600, true), refunded('re_3', 600)];
const EVENTS = eventsOfPaid('released', METADATA, FACTS);
const CHAIN = chainOfPaid('released', METADATA, FACTS);

class ReleaseDesk {
  readonly records = new MemoryConsumerRecords();
  readonly clock: SimulatedClock;
  readonly #entropy = countingEntropy();
  readonly #chain: readonly Transition[];
  #happened = 2;

  constructor(chain = CHAIN) {
    this.#chain = chain;
    const [paid] = EVENTS;
    invariant(paid !== undefined, 'it was paid');
    this.clock = new SimulatedClock(paid.payment.created * 1000);
  }

  /** Advances the clock past the lock period. */
  mature(): void {
    this.clock.advance(LOCKED_MS);
  }

  /** Writes a transition and all before it to the Ledger. Its event may not have arrived. */
  happen(sequence: number): void {
    this.#happened = Math.max(this.#happened, sequence);
  }

  async take(event: EventOf): Promise<void> {
    const { clock, records } = this;
    this.happen(event.event.sequence);
    await keepCommission(
      { records, runner: idempotentRunner, clock, entropy: this.#entropy, digest: systemDigest },
      event,
    );
  }

  async takeAll(events: readonly EventOf[]): Promise<void> {
    for (const event of events) await this.take(event);
  }

  release(actor?: Actor) {
    const { clock, records } = this;
    const job = releaseCommissionsJob({
      book: new MemoryCommissions(records),
      payments: {
        listTransitions: async (paymentId, { afterSequence }) =>
          this.#chain.filter(
            ({ payment, sequence }) =>
              payment.id === paymentId && sequence > afterSequence && sequence <= this.#happened,
          ),
      },
      records: actor === undefined ? records : recordsOf(actor, records),
      clock,
      entropy: this.#entropy,
      digest: systemDigest,
    });
    return sweepJob(job, { nowMs: clock.nowMs() });
  }

  /** Status and amount of the affiliate's row, and whether it has a queue entry. */
  stands(): readonly unknown[] {
    const row = this.records.row({ table: 'registry', partition: 'COMMISSION#ten_fixture#test#aff_7', sort: 'o1' });
    const waits = this.records.allRows().some((each) => each['order'] === 'o1' && 'tenant' in each);
    return [row?.['status'], row?.['amountMinor'], waits ? 'waits' : 'is out'];
  }
}

describe('a commission is released', () => {
  test('after its lock period, not before, and once', async () => {
    const desk = new ReleaseDesk();
    await desk.takeAll(EVENTS.slice(0, 2));
    desk.mature();
    desk.clock.advance(-1);
    expect(await desk.release()).toMatchObject({ done: 0, failed: 0 });
    expect(desk.stands()).toEqual(['locked', 60, 'waits']);
    desk.clock.advance(1);
    expect(await desk.release()).toMatchObject({ done: 1, failed: 0 });
    expect(desk.stands()).toEqual(['released', 60, 'is out']);
    expect(await desk.release()).toMatchObject({ done: 0, failed: 0 });
  });

  test('not after a full refund, and again when that refund has failed', async () => {
    const desk = new ReleaseDesk();
    await desk.takeAll(EVENTS.slice(0, 3));
    desk.mature();
    expect(desk.stands()).toEqual(['canceled', 0, 'is out']);
    expect(await desk.release()).toMatchObject({ done: 0 });
    await desk.takeAll(EVENTS.slice(3, 4));
    expect(desk.stands()).toEqual(['locked', 60, 'waits']);
    expect(await desk.release()).toMatchObject({ done: 1 });
    await desk.takeAll(EVENTS);
    expect(desk.stands()).toEqual(['released', 60, 'is out']);
  });

  test('with the current amount, for any order, concurrency and redelivery of its events', async () => {
    const deliveries = fc.tuple(
      fc.shuffledSubarray([...EVENTS, ...EVENTS], { minLength: EVENTS.length * 2 }),
      fc.nat({ max: EVENTS.length * 2 }),
      fc.scheduler(),
    );
    const ends = new Set(['released 100', 'released 60', 'canceled 0']);
    await fc.assert(
      fc.asyncProperty(deliveries, async ([events, before, scheduler]) => {
        const desk = new ReleaseDesk();
        await desk.takeAll(events.slice(0, before));
        desk.mature();
        const asked = new Actor('job', new FaultPlan());
        await scheduler.waitFor(
          Promise.all([
            ...events
              .slice(before)
              .map((event) => scheduler.schedule(Promise.resolve(event)).then((it) => desk.take(it))),
            scheduler.schedule(Promise.resolve(asked)).then((actor) => desk.release(actor)),
            scheduler.schedule(Promise.resolve(asked)).then(() => desk.release()),
          ]),
        );
        const first = desk.stands();
        if (first[0] === 'released') {
          await desk.takeAll(EVENTS);
          expect(desk.stands()).toEqual(first);
        }
        await desk.release();
        const [status, amount, queue] = desk.stands();
        expect(ends).toContain(`${String(status)} ${String(amount)}`);
        expect(queue).toBe('is out');
      }),
    );
  });

  test.each([1, 2])('with a refund right before call %s, and every pair of faults', async (rivalAt) => {
    const run = async (faults: Parameters<Parameters<typeof surveyFaults>[0]>[0]) => {
      const desk = new ReleaseDesk();
      await desk.takeAll(EVENTS.slice(0, 1));
      desk.mature();
      const plan = new FaultPlan(faults);
      plan.interruption = { point: rivalAt, act: () => desk.takeAll(EVENTS.slice(1, 2)) };
      await desk.release(new Actor('job', plan)).catch(() => undefined);
      await desk.release(new Actor('again', plan)).catch(() => undefined);
      const calls = [...plan.calls];
      plan.active = false;
      plan.interruption = undefined;
      await desk.release();
      const [status, amount, queue] = desk.stands();
      // The refund took effect before the release, or changed nothing after it.
      const isRight = status === 'released' && (amount === 60 || amount === 100) && queue === 'is out';
      return { calls, violations: isRight ? [] : [`${String(status)} ${String(amount)} ${String(queue)}`] };
    };
    const { histories, findings } = await surveyFaults(run, 2);
    expect(findings.slice(0, 3)).toEqual([]);
    expect(histories).toBeGreaterThan(5);
  });

  test('with the reduced amount when a refund arrives between its read and its write', async () => {
    const desk = new ReleaseDesk();
    await desk.takeAll(EVENTS.slice(0, 1));
    desk.mature();
    const plan = new FaultPlan();
    plan.interruption = { point: 1, act: () => desk.takeAll(EVENTS.slice(1, 2)) };
    expect(await desk.release(new Actor('job', plan))).toMatchObject({ done: 1 });
    expect(desk.stands()).toEqual(['released', 60, 'is out']);
  });

  test.each<[string, Fact, Fact, readonly unknown[]]>([
    ['a dispute is open, and then lost', disputed('open'), disputed('lost'), ['canceled', 0, 'is out']],
    ['a dispute is open, and then won', disputed('open'), disputed('won'), ['released', 100, 'is out']],
    [
      'a refund is under way, and then succeeds',
      { kind: 'refund', refundId: 're_1', chargeId: 'ch_1', amountMinor: 1000, status: 'pending' },
      refunded('re_1', 1000),
      ['canceled', 0, 'is out'],
    ],
  ])('not while %s', async (_what, begun, ended, end) => {
    const desk = new ReleaseDesk(chainOfPaid('released', METADATA, [begun, ended]));
    const [paid, ...later] = eventsOfPaid('released', METADATA, [begun, ended]);
    invariant(paid !== undefined, 'it was paid');
    await desk.take(paid);
    desk.happen(3);
    desk.mature();
    expect(await desk.release()).toMatchObject({ done: 0, left: 1, failed: 0 });
    expect(desk.stands()).toEqual(['locked', 100, 'waits']);
    await desk.takeAll(later);
    desk.happen(4);
    await desk.release();
    expect(desk.stands()).toEqual(end);
  });

  test.each<[string, Fact]>([
    ['a refund', refunded('re_1', 1000)],
    ['a lost dispute', disputed('lost')],
  ])('not from old events alone: %s in the Ledger counts although its event is late', async (_what, fact) => {
    const desk = new ReleaseDesk(chainOfPaid('released', METADATA, [fact]));
    const [paid, late] = eventsOfPaid('released', METADATA, [fact]);
    invariant(paid !== undefined && late !== undefined, 'it was paid');
    await desk.take(paid);
    desk.happen(3);
    desk.mature();
    expect(await desk.release()).toMatchObject({ done: 0, left: 1, failed: 0 });
    await desk.take(late);
    await desk.release();
    expect(desk.stands()).toEqual(['canceled', 0, 'is out']);
  });
});
