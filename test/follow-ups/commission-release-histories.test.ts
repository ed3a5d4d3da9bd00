/** Tests the guarantee "exact commissions". */
import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, test } from '@jest/globals';
import type { PaymentEventOf } from '../../lambdas/events/http/event-schemas.ts';
import { keepCommission } from '../../lambdas/follow-ups/keep-commission.ts';
import { releaseCommissionsJob } from '../../lambdas/follow-ups/release-commissions.ts';
import { RegistryRow } from '../../lambdas/kernel/contract/rows.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import type { Fact } from '../../lambdas/payments/domain/facts.ts';
import type { Transition } from '../../lambdas/payments/domain/transition.ts';
import { sweepJob } from '../jobs/sweep-job.ts';
import { RECORD_CALLS } from '../once/consumer-world.ts';
import { chainOfPaid, disputed, eventsOfPaid, refunded } from '../payments/paid-chain.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { type Story, surveyFaults } from '../support/fault-histories.ts';
import { Actor, FaultPlan } from '../support/fault-plan.ts';
import { portWithFaults } from '../support/faulty-ports.ts';
import { fc } from '../support/properties.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { Stores } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';

const LOCKED_MS = 30 * 24 * 60 * 60_000;
const METADATA = { affiliate: 'aff_7', order: 'o1' };
/** A partial refund, a failed refund of the remaining amount, and a new refund of that amount. */
const FACTS = [refunded('re_1', 400), refunded('re_2', 600), refunded('re_2', 600, true), refunded('re_3', 600)];
const EVENTS = eventsOfPaid('released', METADATA, FACTS);
const CHAIN = chainOfPaid('released', METADATA, FACTS);

class ReleaseHarness {
  readonly stores = new Stores();
  readonly records = this.stores.consumed;
  readonly clock: SimulatedClock;
  readonly #entropy = countingEntropy();
  readonly #chain: readonly Transition[];
  #happened = 2;

  constructor(chain = CHAIN) {
    this.#chain = chain;
    const [paid] = EVENTS;
    invariant(paid !== undefined, 'the payment has no event');
    this.clock = new SimulatedClock(paid.payment.created * 1000);
  }

  mature(): void {
    this.clock.advance(LOCKED_MS);
  }

  /** The events of the transitions can arrive later. */
  happen(sequence: number): void {
    this.#happened = Math.max(this.#happened, sequence);
  }

  async take(event: PaymentEventOf): Promise<void> {
    const { clock, records } = this;
    this.happen(event.event.sequence);
    await keepCommission(
      { records, runner: idempotentRunner, clock, entropy: this.#entropy, digest: systemDigest },
      event,
    );
  }

  async takeAll(events: readonly PaymentEventOf[]): Promise<void> {
    for (const event of events) await this.take(event);
  }

  release(actor?: Actor) {
    const { clock, records } = this;
    const job = releaseCommissionsJob({
      book: this.stores.commissions,
      payments: {
        listTransitions: async (paymentId, { afterSequence }) =>
          this.#chain.filter(
            ({ payment, sequence }) =>
              payment.id === paymentId && sequence > afterSequence && sequence <= this.#happened,
          ),
      },
      orders: this.stores,
      records: actor === undefined ? records : portWithFaults(actor, records, ...RECORD_CALLS),
      clock,
      entropy: this.#entropy,
      digest: systemDigest,
    });
    return sweepJob(job, { nowMs: clock.nowMs() });
  }

  stands(): readonly unknown[] {
    const row = this.stores.row({ table: 'registry', partition: 'COMMISSION#ten_fixture#test#aff_7', sort: 'o1' });
    const waits = this.stores.allRows().some((each) => each['order'] === 'o1' && 'tenant' in each);
    return [row?.['status'], row?.['amountMinor'], waits ? 'waits' : 'is out'];
  }
}

describe('the release of a commission', () => {
  test('happens exactly once, and not before the end of the lock period', async () => {
    const harness = new ReleaseHarness();
    await harness.takeAll(EVENTS.slice(0, 2));
    harness.mature();
    harness.clock.advance(-1);
    expect(await harness.release()).toMatchObject({ done: 0, failed: 0 });
    expect(harness.stands()).toEqual(['locked', 60, 'waits']);
    harness.clock.advance(1);
    expect(await harness.release()).toMatchObject({ done: 1, failed: 0 });
    expect(harness.stands()).toEqual(['released', 60, 'is out']);
    expect(await harness.release()).toMatchObject({ done: 0, failed: 0 });
  });

  test('removes a stale queue entry that a restore put back, in a single run', async () => {
    const harness = new ReleaseHarness();
    await harness.takeAll(EVENTS.slice(0, 2));
    harness.mature();
    const { database } = harness.stores;
    const entries = database.items(TABLES.registry, RegistryRow.commissionDue);
    await harness.release();
    for (const Item of entries) await database.client.send(new PutCommand({ TableName: TABLES.registry, Item }));
    expect(harness.stands()).toEqual(['released', 60, 'waits']);
    await harness.release();
    expect(harness.stands()).toEqual(['released', 60, 'is out']);
  });

  test('does not happen after a full refund, but happens after that refund has failed', async () => {
    const harness = new ReleaseHarness();
    await harness.takeAll(EVENTS.slice(0, 3));
    harness.mature();
    expect(harness.stands()).toEqual(['canceled', 0, 'waits']);
    expect(await harness.release()).toMatchObject({ done: 1, failed: 0 });
    expect(harness.stands()).toEqual(['canceled', 0, 'is out']);
    await harness.takeAll(EVENTS.slice(3, 4));
    expect(harness.stands()).toEqual(['locked', 60, 'waits']);
    expect(await harness.release()).toMatchObject({ done: 1 });
    await harness.takeAll(EVENTS);
    expect(harness.stands()).toEqual(['released', 60, 'is out']);
  });

  test('pays the current amount, however its events are ordered, redelivered or processed concurrently', async () => {
    const deliveries = fc.tuple(
      fc.shuffledSubarray([...EVENTS, ...EVENTS], { minLength: EVENTS.length * 2 }),
      fc.nat({ max: EVENTS.length * 2 }),
      fc.scheduler(),
    );
    const ends = new Set(['released 100', 'released 60', 'canceled 0']);
    await fc.assert(
      fc.asyncProperty(deliveries, async ([events, before, scheduler]) => {
        const harness = new ReleaseHarness();
        await harness.takeAll(events.slice(0, before));
        harness.mature();
        const asked = new Actor('job', new FaultPlan());
        await scheduler.waitFor(
          Promise.all([
            ...events
              .slice(before)
              .map((event) => scheduler.schedule(Promise.resolve(event)).then((it) => harness.take(it))),
            scheduler.schedule(Promise.resolve(asked)).then((actor) => harness.release(actor)),
            scheduler.schedule(Promise.resolve(asked)).then(() => harness.release()),
          ]),
        );
        const first = harness.stands();
        if (first[0] === 'released') {
          await harness.takeAll(EVENTS);
          expect(harness.stands()).toEqual(first);
        }
        await harness.release();
        const [status, amount, queue] = harness.stands();
        expect(ends).toContain(`${String(status)} ${String(amount)}`);
        expect(queue).toBe('is out');
      }),
    );
  });

  test.each([1, 2])(
    'pays a correct amount despite a refund just before call %s and any pair of faults',
    async (rivalAt) => {
      const run: Story = async (faults) => {
        const harness = new ReleaseHarness();
        await harness.takeAll(EVENTS.slice(0, 1));
        harness.mature();
        const plan = new FaultPlan(faults);
        plan.holdAt(rivalAt, () => harness.takeAll(EVENTS.slice(1, 2)));
        await harness.release(new Actor('job', plan)).catch(() => undefined);
        await harness.release(new Actor('again', plan)).catch(() => undefined);
        const calls = plan.calm();
        await harness.release();
        const [status, amount, queue] = harness.stands();
        // In minor units: 60 if the refund precedes the release, and 100 if it follows.
        const isRight = status === 'released' && (amount === 60 || amount === 100) && queue === 'is out';
        return { calls, violations: isRight ? [] : [`${String(status)} ${String(amount)} ${String(queue)}`] };
      };
      const { histories, findings } = await surveyFaults(run, { faults: 2 });
      expect(findings.slice(0, 3)).toEqual([]);
      expect(histories).toBeGreaterThan(5);
    },
  );

  test('pays the reduced amount if a refund arrives between the read and the write of the job', async () => {
    const harness = new ReleaseHarness();
    await harness.takeAll(EVENTS.slice(0, 1));
    harness.mature();
    const plan = new FaultPlan();
    plan.holdAt(1, () => harness.takeAll(EVENTS.slice(1, 2)));
    expect(await harness.release(new Actor('job', plan))).toMatchObject({ done: 1 });
    expect(harness.stands()).toEqual(['released', 60, 'is out']);
  });

  test.each<[string, Fact, Fact, readonly unknown[]]>([
    ['an open dispute that is then lost', disputed('open'), disputed('lost'), ['canceled', 0, 'is out']],
    ['an open dispute that is then won', disputed('open'), disputed('won'), ['released', 100, 'is out']],
    [
      'a refund that is in progress and then succeeds',
      { kind: 'refund', refundId: 're_1', chargeId: 'ch_1', amountMinor: 1000, status: 'pending', createdAtMs: 0 },
      refunded('re_1', 1000),
      ['canceled', 0, 'is out'],
    ],
  ])('does not happen during %s', async (_what, begun, ended, end) => {
    const harness = new ReleaseHarness(chainOfPaid('released', METADATA, [begun, ended]));
    const [paid, ...later] = eventsOfPaid('released', METADATA, [begun, ended]);
    invariant(paid !== undefined, 'the payment has no event');
    await harness.take(paid);
    harness.happen(3);
    harness.mature();
    expect(await harness.release()).toMatchObject({ done: 0, left: 1, failed: 0 });
    expect(harness.stands()).toEqual(['locked', 100, 'waits']);
    await harness.takeAll(later);
    harness.happen(4);
    await harness.release();
    expect(harness.stands()).toEqual(end);
  });

  test.each<[string, Fact]>([
    ['a refund', refunded('re_1', 1000)],
    ['a lost dispute', disputed('lost')],
  ])('takes %s from the Ledger into account even if the event has not been delivered yet', async (_what, fact) => {
    const harness = new ReleaseHarness(chainOfPaid('released', METADATA, [fact]));
    const [paid, late] = eventsOfPaid('released', METADATA, [fact]);
    invariant(paid !== undefined && late !== undefined, 'the payment has no event');
    await harness.take(paid);
    harness.happen(3);
    harness.mature();
    expect(await harness.release()).toMatchObject({ done: 1, left: 0, failed: 0 });
    expect(harness.stands()).toEqual(['canceled', 0, 'is out']);
    await harness.take(late);
    await harness.release();
    expect(harness.stands()).toEqual(['canceled', 0, 'is out']);
  });

  // The events after the erasure name no affiliate.
  test.each<[string, number, readonly Fact[], readonly unknown[]]>([
    ['after a partial refund, the rest is released', 1, [refunded('re_1', 400)], ['released', 60, 'is out']],
    ['after a full refund, the commission is canceled', 1, [refunded('re_1', 1000)], ['canceled', 0, 'is out']],
    [
      'after a refund that failed following the erasure, the whole commission is released',
      2,
      [refunded('re_1', 1000), refunded('re_1', 1000, true)],
      ['released', 100, 'is out'],
    ],
    [
      'after a lost dispute, the commission is canceled',
      1,
      [disputed('open'), disputed('lost')],
      ['canceled', 0, 'is out'],
    ],
    [
      'after a won dispute, the whole commission is released',
      1,
      [disputed('open'), disputed('won')],
      ['released', 100, 'is out'],
    ],
  ])('follows the Ledger of an erased payment: %s', async (_what, eventsBefore, facts, end) => {
    const harness = new ReleaseHarness(chainOfPaid('released', {}, facts));
    await harness.takeAll(eventsOfPaid('released', METADATA, facts).slice(0, eventsBefore));
    await harness.takeAll(eventsOfPaid('released', {}, facts));
    harness.mature();
    expect(await harness.release()).toMatchObject({ done: 1, left: 0, failed: 0 });
    expect(harness.stands()).toEqual(end);
    expect(await harness.release()).toMatchObject({ done: 0, left: 0, failed: 0 });
  });
});
