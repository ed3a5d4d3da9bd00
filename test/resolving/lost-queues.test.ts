/** An object that only the processor's books show as open is tracked again after a restore has lost its queue entry. */
import { describe, expect, test } from '@jest/globals';
import { DynamoDbImpliedRows } from '../../lambdas/resolving/store/dynamodb-implied-rows.ts';
import { initialQueueRebuildState, rebuildQueues } from '../../lambdas/resolving/use/rebuild-queues.ts';
import { paymentRequest } from '../payments/payment-fixtures.ts';
import { TABLES } from '../world/tables.ts';
import { DAY_HOURS, OpenObjectsWorld, opened, SHOWN } from './open-objects-world.ts';

async function rebuild(world: OpenObjectsWorld): Promise<number> {
  const { store, clock, basics } = world;
  const rows = new DynamoDbImpliedRows(store.database.client, TABLES, basics);
  const tools = { store, orders: store, ledger: store.ledgerScan, rows, clock, commission: async () => false };
  return (await rebuildQueues(tools, initialQueueRebuildState(1), async () => undefined)).missing.inquiry;
}

describe('an object of an old payment, open in the books but final in the chain,', () => {
  test.each(['a refund that Payonce recorded as failed', 'a dispute that was won and reopened', 'a dispute'])(
    'is tracked again after its queue entry was lost: %s',
    async (kind) => {
      const world = new OpenObjectsWorld();
      const payment = paymentRequest('lost');
      await world.pay(payment);
      const { chargeId, end } = await opened(kind, world, payment);
      await SHOWN['a callback'](world, payment, chargeId);
      await world.live(30 * DAY_HOURS, { halves: 24 });
      expect(await world.queued()).toEqual([chargeId]);
      for (const entry of await world.store.inquiries()) await world.store.closeInquiry(entry);
      expect(await rebuild(world)).toBe(1);
      await world.live(2 * DAY_HOURS);
      expect(await world.queued()).toEqual([chargeId]);
      await end();
      await world.live(2 * DAY_HOURS);
      expect(await world.queued()).toEqual([]);
      const { there, booked } = await world.held(payment);
      expect(booked).toBe(there);
    },
  );

  test('is removed from the queue again if it is no longer open at the processor', async () => {
    const world = new OpenObjectsWorld();
    const payment = paymentRequest('ended');
    await world.pay(payment);
    const { chargeId, end } = await opened('a dispute', world, payment);
    await SHOWN['a callback'](world, payment, chargeId);
    await end();
    await world.live(2 * DAY_HOURS);
    expect([await world.queued(), await rebuild(world)]).toEqual([[], 1]);
    await world.live(DAY_HOURS);
    expect(await world.queued()).toEqual([]);
  });
});
