import { expect, test } from '@jest/globals';
import type { AlarmMetric } from '../../lambdas/kernel/contract/metrics.ts';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import type { OpenRecord } from '../../lambdas/once/domain/idempotency.ts';
import { resolveClaims, resultOfClaim } from '../../lambdas/resolving/use/resolve.ts';
import { sweepAll } from '../jobs/sweep-all.ts';
import { orderRequest } from '../orders/order-fixtures.ts';
import { World } from '../world/world.ts';

const MINUTE_MS = 60_000;

/** The shop has not reserved the goods yet. */
async function paidOrder() {
  const harness = new World();
  const request = orderRequest('paid');
  const silent = { ...harness.stock, reserve: () => Promise.reject(new RetryableError('stock_timeout', 'no')) };
  await harness.order(request, { stock: silent });
  expect(await harness.read(request)).toMatchObject({ status: 'processing', charge: { status: 'succeeded' } });
  return { harness, request };
}

/** Runs the jobs every minute in a deployment without a shop, or with the settings `deployed`. @returns the alarms */
async function runFor(harness: World, minutes: number, deployed: object): Promise<AlarmMetric[]> {
  const alarms: AlarmMetric[] = [];
  const { stock: _stock, referrals: _referrals, mailer: _mailer, ...tools } = harness.tools;
  for (let minute = 0; minute < minutes; minute += 1) {
    harness.clock.advance(MINUTE_MS);
    const alarm = (what: AlarmMetric): void => void alarms.push(what);
    await sweepAll({ ...tools, alarm, onResolved: () => undefined, ...deployed });
  }
  return alarms;
}

test('an order whose shop was removed from the deployment raises one alarm, and is refunded after an hour', async () => {
  const { harness, request } = await paidOrder();
  expect(await runFor(harness, 2, {})).toEqual(['undecidable']);
  expect(await runFor(harness, 120, {})).toEqual([]);
  expect(harness.keptMinor(request)).toBe(0);
});

test('an order whose process crashed and whose shop was then removed raises one alarm for its claim and queue entry together', async () => {
  const harness = new World();
  const request = orderRequest('crashed');
  const died = () => Promise.reject(new Error('the process died'));
  await expect(harness.order(request, { stock: { ...harness.stock, reserve: died } })).rejects.toThrow('died');
  expect(harness.store.openClaims()).toBe(1);
  expect(await runFor(harness, 120, {})).toEqual(['undecidable']);
  expect(harness.store.openClaims()).toBe(0);
  expect(harness.keptMinor(request)).toBe(0);
});

test('an order claim that cannot be finished raises a single alarm over several runs', async () => {
  const harness = new World();
  const died = () => Promise.reject(new Error('the process died'));
  await expect(harness.order(orderRequest('stuck'), { stock: { ...harness.stock, reserve: died } })).rejects.toThrow();
  const alarms: string[] = [];
  const alarm = (what: string) => void alarms.push(what);
  const { tools } = harness;
  const finishOther = async (record: OpenRecord) => resultOfClaim(tools, 'order_key_expired', record);
  const run = () => {
    harness.clock.advance(2 * MINUTE_MS);
    return resolveClaims({ ...tools, alarm, finishOther });
  };
  expect([await run(), await run(), await run()]).toMatchObject([{ undecidable: 1 }, { waiting: 1 }, { waiting: 1 }]);
  expect(alarms).toEqual(['undecidable']);
});

test('a test-mode order gets no goods from a live shop that replaced the order’s own shop', async () => {
  const { harness, request } = await paidOrder();
  const { stock, referrals, mailer } = harness;
  const called: string[] = [];
  const reserve = (...call: Parameters<typeof stock.reserve>) => {
    called.push('reserve');
    return stock.reserve(...call);
  };
  const parties = { stock: { ...stock, reserve }, referrals, mailer, ordersOf: 'live' as const };
  expect(await runFor(harness, 180, { parties })).toEqual(['undecidable']);
  expect(called).toEqual([]);
  expect(harness.keptMinor(request)).toBe(0);
  expect(harness.mailer.outbox).toEqual([]);
});

test('an order continues when its shop is configured again', async () => {
  const { harness, request } = await paidOrder();
  const { stock, referrals, mailer } = harness;
  await runFor(harness, 5, {});
  expect(await runFor(harness, 5, { parties: { stock, referrals, mailer, ordersOf: 'test' as const } })).toEqual([]);
  expect(await harness.read(request)).toMatchObject({ status: 'completed' });
});
