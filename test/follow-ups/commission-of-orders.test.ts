import { describe, expect, test } from '@jest/globals';
import { nameOfEvent, orderEventOf } from '../../lambdas/events/domain/event.ts';
import { readEvent } from '../../lambdas/events/http/event-schemas.ts';
import { COMMISSION_EVENTS } from '../../lambdas/follow-ups/contract.ts';
import { type CommissionEvent, keepCommission } from '../../lambdas/follow-ups/keep-commission.ts';
import { releaseCommissionsJob } from '../../lambdas/follow-ups/release-commissions.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { isOrderOutcome } from '../../lambdas/orders/domain/order.ts';
import { orderDetailsOf } from '../../lambdas/orders/domain/order-transition.ts';
import type { CreateOrder } from '../../lambdas/orders/use/create-order.ts';
import { eventsOf } from '../events/event-fixtures.ts';
import { sweepJob } from '../jobs/sweep-job.ts';
import { orderRequest } from '../orders/order-fixtures.ts';
import { callback, change, paymentRequest } from '../payments/payment-fixtures.ts';
import { permutations } from '../support/permutations.ts';
import { sliceOf } from '../support/slice.ts';
import { Stores } from '../world/stores.ts';
import { World } from '../world/world.ts';

const LOCKED_MS = 31 * 24 * 60 * 60_000;

class AffiliateOrder {
  readonly world = new World();
  readonly request: CreateOrder;
  #dispute = '';

  constructor(changes: Partial<CreateOrder> = {}) {
    this.request = orderRequest('by-affiliate', { affiliate: 'aff_7', ...changes });
  }

  async place(): Promise<this> {
    await this.world.order(this.request);
    return this;
  }

  async paymentRequest() {
    const { payment } = (await this.world.payment(this.request)).state;
    return { ...paymentRequest('of-order'), paymentId: payment.id, tenantId: payment.tenantId, mode: payment.mode };
  }

  async refund(key: string, amountMinor: number): Promise<void> {
    await this.world.change(change(await this.paymentRequest(), key, { kind: 'refund', amountMinor }));
  }

  async dispute(status: 'open' | 'won' | 'lost'): Promise<void> {
    const { processor } = this.world;
    const charge = this.world.chargeOf(await this.paymentRequest());
    if (status === 'open') this.#dispute = await processor.inside.dispute(charge, 2_000);
    else await processor.inside.closeDispute(this.#dispute, status);
    await this.world.deliver(callback(`dispute-${status}`, charge));
  }

  /** Returns only events that match the consumer's rules. */
  async events(): Promise<readonly CommissionEvent[]> {
    const { orderId } = this.request;
    const transitions = await this.world.transitions(orderId);
    const [first] = transitions;
    invariant(first !== undefined, 'the order has no first transition');
    const ofOrder = transitions
      .filter(({ type }) => isOrderOutcome(type))
      .map((each) => JSON.parse(JSON.stringify(orderEventOf(systemDigest, each, orderDetailsOf(first)))) as never);
    const chain = await this.world.payment(this.request);
    return [...ofOrder, ...eventsOf(systemDigest, chain.transitions)].flatMap((detail) => {
      const name = COMMISSION_EVENTS.find((each) => each === nameOfEvent(detail['event']));
      if (name === undefined) return [];
      const read = readEvent(name, detail);
      invariant(read.kind === 'event', 'the event cannot be read');
      return [read.event];
    });
  }
}

/** The events are delivered to a separate Registry; the release job reads the current Ledger. */
class Affiliates {
  readonly stores: Stores;
  readonly #order: AffiliateOrder;

  constructor(order: AffiliateOrder) {
    this.#order = order;
    this.stores = new Stores(order.world.clock);
  }

  async takeAll(events: readonly CommissionEvent[]): Promise<this> {
    const { basics } = this.#order.world;
    for (const event of events) await keepCommission({ ...basics, records: this.stores.consumed }, event);
    return this;
  }

  release() {
    const { basics, store, clock } = this.#order.world;
    const { commissions: book, consumed: records } = this.stores;
    const job = releaseCommissionsJob({ ...basics, book, payments: store, orders: store, records });
    return sweepJob(job, { nowMs: clock.nowMs() });
  }

  /** The last value is the number of queue entries that remain. */
  stands(): readonly unknown[] {
    const rows = this.stores.allRows();
    const own = rows.filter((row) => 'status' in row && 'amountMinor' in row);
    const shown = own.map((row) => `${row['status'] as string} ${row['amountMinor'] as number}`);
    return [...shown, rows.filter((row) => 'tenant' in row).length];
  }
}

const MATURE = async ({ world }: AffiliateOrder) => world.clock.advance(LOCKED_MS);

describe("an order's commission", () => {
  test('is pending after the order and locked after the payment; after the lock period, a tenth of the amount is released', async () => {
    const order = await new AffiliateOrder().place();
    const [placed, paid] = await order.events();
    invariant(placed !== undefined && paid !== undefined, 'the order or its payment is missing');
    const affiliates = new Affiliates(order);
    expect((await affiliates.takeAll([placed])).stands()).toEqual(['pending 200', 1]);
    expect((await affiliates.takeAll([paid])).stands()[0]).toBe('locked 200');
    await MATURE(order);
    await affiliates.release();
    expect(affiliates.stands()).toEqual(['released 200', 0]);
    await affiliates.takeAll([placed, paid, placed]);
    await affiliates.release();
    expect(affiliates.stands()).toEqual(['released 200', 0]);
  });

  test.each<[string, Partial<CreateOrder>, (order: AffiliateOrder) => Promise<unknown>, string]>([
    ['that is completed', {}, async () => undefined, 'released 200'],
    ['that is declined', { source: 'tok_declined' }, async () => undefined, 'canceled 0'],
    ['out of stock', { items: [{ sku: 'sku_none', quantity: 1 }] }, async () => undefined, 'canceled 0'],
    ['that is refunded', {}, (order) => order.refund('all', 2_000), 'canceled 0'],
    [
      'refunded in two parts',
      {},
      async (order) => {
        await order.refund('a', 500);
        await order.refund('b', 1_500);
      },
      'canceled 0',
    ],
    ['refunded in part', {}, (order) => order.refund('part', 500), 'released 150'],
    [
      'with a lost dispute',
      {},
      async (order) => {
        await order.dispute('open');
        await order.dispute('lost');
      },
      'canceled 0',
    ],
    [
      'with a won dispute',
      {},
      async (order) => {
        await order.dispute('open');
        await order.dispute('won');
      },
      'released 200',
    ],
  ])(
    'exists once, and reaches the same state for any sequence of its duplicated events: an order %s',
    async (_what, changes, becomes, end) => {
      const order = await new AffiliateOrder(changes).place();
      await becomes(order);
      await order.world.resolveFor(3);
      const events = await order.events();
      expect(events.length).toBeGreaterThan(1);
      const all = sliceOf(permutations(events), events.length > 3 ? 5 : 1);
      const ends = new Set<string>();
      const subjects: Affiliates[] = [];
      for (const some of all) subjects.push(await new Affiliates(order).takeAll([...some, ...some.toReversed()]));
      await MATURE(order);
      for (const affiliates of subjects) {
        await affiliates.release();
        await affiliates.release();
        await affiliates.takeAll(events);
        await affiliates.release();
        ends.add(JSON.stringify(affiliates.stands()));
      }
      expect([...ends]).toEqual([JSON.stringify([end, 0])]);
    },
  );

  test('waits while the order is in progress, and then follows the outcome of the order', async () => {
    const order = await new AffiliateOrder({ source: 'tok_action' }).place();
    const affiliates = await new Affiliates(order).takeAll(await order.events());
    await MATURE(order);
    expect(await affiliates.release()).toMatchObject({ done: 0, left: 1, failed: 0 });
    expect(affiliates.stands()).toEqual(['pending 200', 1]);
    await order.world.resolveFor(60);
    expect((await order.world.read(order.request)).status).toBe('canceled');
    // The order's event has not been delivered yet.
    expect(await affiliates.release()).toMatchObject({ done: 1, left: 0, failed: 0 });
    expect(affiliates.stands()).toEqual(['canceled 0', 0]);
    await affiliates.takeAll(await order.events());
    await affiliates.release();
    expect(affiliates.stands()).toEqual(['canceled 0', 0]);
  });

  test('does not exist for an order without an affiliate', async () => {
    const order = new AffiliateOrder();
    const { affiliate: _, ...plain } = order.request;
    await order.world.order(plain);
    const affiliates = await new Affiliates(order).takeAll(await order.events());
    expect(affiliates.stands()).toEqual([0]);
    expect(affiliates.stores.consumptions()).toHaveLength(0);
  });
});
