/** Tests the guarantee "exact commissions". */
import { describe, expect, test } from '@jest/globals';
import type { PaymentEventOf } from '../../lambdas/events/http/event-schemas.ts';
import { commissionAfter } from '../../lambdas/follow-ups/commission.ts';
import { commissionDueKey } from '../../lambdas/follow-ups/commission-rows.ts';
import { keepCommission, writesOfDecision } from '../../lambdas/follow-ups/keep-commission.ts';
import { BASE32_ALPHABET } from '../../lambdas/kernel/digest.ts';
import { DUE_SHARDS } from '../../lambdas/kernel/due-sort.ts';
import { ownerToken } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { consumerOperation } from '../../lambdas/once/ids.ts';
import { disputed, eventsOfPaid, refunded } from '../payments/paid-chain.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { fc } from '../support/properties.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { Stores } from '../world/stores.ts';

class CommissionHarness {
  readonly clock = new SimulatedClock();
  readonly stores = new Stores(this.clock);
  readonly records = this.stores.consumed;
  readonly #entropy = countingEntropy();

  keep(event: PaymentEventOf) {
    const { clock, records } = this;
    return keepCommission(
      { records, runner: idempotentRunner, clock, entropy: this.#entropy, digest: systemDigest },
      event,
    );
  }

  async keepAll(events: readonly PaymentEventOf[]): Promise<void> {
    for (const event of events) await this.keep(event);
  }

  row(affiliate = 'aff_7', sort = 'o1') {
    return this.stores.row({ table: 'registry', partition: `COMMISSION#ten_fixture#test#${affiliate}`, sort });
  }

  async payOut(newest: PaymentEventOf): Promise<void> {
    const commission = commissionAfter(newest, newest.payment);
    invariant(commission !== undefined, 'the commission does not exist');
    const record = { operationId: consumerOperation(systemDigest, 'pay-out', 'o1'), owner: ownerToken('cron') };
    const outcome = await this.records.recordOnce(
      { ...record, recordedAtMs: 0 },
      writesOfDecision({ ...commission, status: 'released', sequence: 1_000_000 }, commission),
    );
    expect(outcome).toEqual({ kind: 'recorded' });
  }
}

const METADATA = { affiliate: 'aff_7', order: 'o1' };
const EVENTS = eventsOfPaid('commission', METADATA, [
  refunded('re_1', 400),
  refunded('re_2', 600),
  refunded('re_2', 600, true),
  refunded('re_3', 600),
]);

test('the queue entries of commissions are spread evenly over the shards', () => {
  const counts = new Map<string, number>();
  for (const letter of BASE32_ALPHABET) {
    const { partition } = commissionDueKey({ paymentId: `pay_${letter.repeat(32)}`, releasesAtMs: 0 });
    counts.set(partition, (counts.get(partition) ?? 0) + 1);
  }
  expect([...counts.values()]).toEqual(Array.from({ length: DUE_SHARDS }, () => 32 / DUE_SHARDS));
});

describe('a commission', () => {
  test('follows the amount that the merchant keeps, until the full refund', async () => {
    const harness = new CommissionHarness();
    const seen: unknown[] = [];
    for (const event of EVENTS) {
      await harness.keep(event);
      seen.push([harness.row()?.['status'], harness.row()?.['amountMinor']]);
    }
    expect(seen).toEqual([
      ['locked', 100],
      ['locked', 60],
      ['canceled', 0],
      ['locked', 60],
      ['canceled', 0],
    ]);
  });

  test('reaches the same state when its events are reordered, duplicated or concurrent', async () => {
    const upTo = fc.integer({ min: 1, max: EVENTS.length });
    const deliveries = upTo.chain((count) =>
      fc.tuple(
        fc.constant(count),
        fc.shuffledSubarray([...EVENTS.slice(0, count), ...EVENTS.slice(0, count)], { minLength: count * 2 }),
        fc.scheduler(),
      ),
    );
    await fc.assert(
      fc.asyncProperty(deliveries, async ([count, events, scheduler]) => {
        const inOrder = new CommissionHarness();
        await inOrder.keepAll(EVENTS.slice(0, count));
        const harness = new CommissionHarness();
        await scheduler.waitFor(
          Promise.all(
            events.map((event) => scheduler.schedule(Promise.resolve(event)).then((each) => harness.keep(each))),
          ),
        );
        expect(harness.row()).toEqual(inOrder.row());
        // The rows are the order's row, the affiliate's row and the queue entry.
        expect(harness.stores.allRows()).toHaveLength(3);
      }),
    );
  });

  test('stays released after later refunds', async () => {
    const [paid, part, ...later] = EVENTS;
    invariant(paid !== undefined && part !== undefined, 'the payment has no event');
    const harness = new CommissionHarness();
    await harness.keepAll([paid, part]);
    const record = harness.row();
    await harness.payOut(part);
    await harness.keepAll(later);
    expect(harness.row()).toMatchObject({ status: 'released', amountMinor: record?.['amountMinor'] });
  });

  test.each([
    ['in order', (events: readonly PaymentEventOf[]) => events],
    ['in reverse order', (events: readonly PaymentEventOf[]) => events.toReversed()],
  ])('is canceled permanently by a lost dispute when its events arrive %s', async (_order, inSome) => {
    const harness = new CommissionHarness();
    const lost = eventsOfPaid('lost', METADATA, [disputed('lost'), refunded('re_1', 400), refunded('re_1', 400, true)]);
    await harness.keepAll(inSome(lost));
    expect(harness.row()).toMatchObject({ status: 'canceled', amountMinor: 0 });
  });

  test('stays locked if a dispute is won', async () => {
    const harness = new CommissionHarness();
    await harness.keepAll(eventsOfPaid('won', METADATA, [disputed('open'), disputed('won')]));
    expect(harness.row()).toMatchObject({ status: 'locked', amountMinor: 100 });
  });

  test('stays released when a dispute is lost later', async () => {
    const events = eventsOfPaid('paid-out', METADATA, [disputed('lost')]);
    const harness = new CommissionHarness();
    await harness.keepAll(events.slice(0, 1));
    await harness.payOut(events[0] as PaymentEventOf);
    await harness.keepAll(events);
    expect(harness.row()).toMatchObject({ status: 'released', amountMinor: 100 });
  });

  test('exists once per order, for the first payment, even when a later payment names a different affiliate', async () => {
    const others = eventsOfPaid('another', { affiliate: 'aff_8', order: 'o1' }, [
      refunded('re_7', 100),
      refunded('re_8', 100),
      refunded('re_9', 100),
    ]);
    const harness = new CommissionHarness();
    await harness.keepAll([...EVENTS.slice(0, 2), ...others]);
    expect(harness.row()).toMatchObject({ status: 'locked', amountMinor: 60 });
    expect(harness.row('aff_8')).toBeUndefined();
  });

  test('exists for a payment without an order, and not for a payment without an affiliate', async () => {
    const harness = new CommissionHarness();
    await harness.keepAll(eventsOfPaid('alone', { affiliate: 'aff_7' }));
    await harness.keepAll(eventsOfPaid('direct', { order: 'o2' }));
    expect(harness.stores.allRows()).toHaveLength(3);
    expect(harness.stores.consumptions()).toHaveLength(1);
  });

  test('is not processed again for redelivered events, even after their records have expired', async () => {
    const harness = new CommissionHarness();
    await harness.keepAll(EVENTS);
    harness.clock.advance(400 * 24 * 60 * 60 * 1000);
    harness.stores.database.deleteExpired();
    const again = await Promise.all(EVENTS.map((event) => harness.keep(event)));
    expect(again).toEqual(EVENTS.map(() => ({ kind: 'done_before' })));
  });
});
