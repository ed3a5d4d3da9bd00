/** Tests that a system that responds slowly, or not at all, delays no work that waits for another system. */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { callbackOperation } from '../../lambdas/callbacks/ids.ts';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import { ownerToken } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { Effect } from '../../lambdas/payments/use/effect-store.ts';
import type { Processor } from '../../lambdas/payments/use/processor.ts';
import { resolveOrders } from '../../lambdas/resolving/use/resolve-orders.ts';
import { retryOrphans } from '../../lambdas/resolving/use/retry-orphans.ts';
import { sweepAll } from '../jobs/sweep-all.ts';
import { orderRequest } from '../orders/order-fixtures.ts';
import { paymentRequest } from '../payments/payment-fixtures.ts';
import { whole } from '../support/slice.ts';
import { SilentWorld } from './silent-world.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const LONG_MS = 600_000;

/** Number of entries of the slow processor. */
const SLOW = whole(900, { slice: 100 });
/** Number of entries of the healthy processor. */
const HEALTHY = 20;
/** Time to read all entries once, in milliseconds. */
const ALLOWANCE_MS = Math.ceil((SLOW + HEALTHY) / 1_000) * MINUTE_MS;

let world: SilentWorld;
let number: number;
beforeEach(() => {
  world = new SilentWorld();
  number = 0;
});

/** Writes an entry of a queue. @returns the id of the payment or charge that calls about the entry name */
type Enqueue = (at: Processor) => Promise<string>;

const request = (changes: Parameters<typeof paymentRequest>[1] = {}) => {
  number += 1;
  return paymentRequest(`${number}`, changes);
};
const paid = async (at: Processor, source: string) => {
  const { paymentId, ...asked } = request({ source });
  await world.pay({ ...asked, paymentId }, { processor: at });
  return { paymentId, chargeId: (await world.chain({ paymentId })).state.payment.chargeId ?? '' };
};
const record = async (name: string, effect: Omit<Effect, 'record' | 'transitions'>) => {
  const operationId = callbackOperation(systemDigest, 'memory', name);
  const written = { operationId, owner: ownerToken('owner-a'), recordedAtMs: world.clock.nowMs() };
  await world.store.recordEffect({ record: written, transitions: [], ...effect });
};

const payer: Enqueue = async (at) => (await paid(at, 'tok_action')).chargeId;
const unknown: Enqueue = (at) => world.payUnknown(request(), at);
const claimed: Enqueue = async (at) => {
  const asked = request();
  await world.claimThenDie(asked, false, { ...world.processor, ...at });
  return asked.paymentId;
};
const owed: Enqueue = async (at) => {
  const { paymentId, chargeId } = await paid(at, 'tok_ok');
  await record(chargeId, { toReturn: [{ paymentId, chargeId, by: 'void', foundAtMs: world.clock.nowMs() }] });
  return chargeId;
};
const orphaned: Enqueue = async ({ name }) => {
  number += 1;
  const chargeId = `ch_orphan${number}`;
  const operationId = callbackOperation(systemDigest, 'memory', chargeId);
  const event = { processorName: name, mode: 'test', eventId: chargeId, type: 'any', chargeId } as const;
  const receivedAtMs = world.clock.nowMs();
  await record(chargeId, { orphan: { operationId, event, reason: 'charge_unknown', receivedAtMs } });
  return chargeId;
};

const resolve = () => {
  const { stock, referrals, mailer, ...tools } = world.tools;
  return sweepAll({ ...tools, parties: { stock, referrals, mailer }, onResolved: () => undefined });
};
const retry = (startedAtMs: number) => retryOrphans(world.tools, startedAtMs);

describe('behind the entries of a processor that responds slowly', () => {
  test.each<readonly [string, Enqueue, number, (startedAtMs: number) => Promise<unknown>]>([
    ['a routine look-up', payer, 4_000, resolve],
    ['an unknown outcome', unknown, 1_900, resolve],
    ['an unknown outcome whose charges are read', unknown, 4_000, resolve],
    ['a stale claim', claimed, 4_000, resolve],
    ['a charge to return', owed, 4_000, resolve],
    ['an orphaned callback', orphaned, 4_900, retry],
  ])(
    '%s is checked within the time to read all entries',
    async (_what, enqueue, callMs, run) => {
      for (let entry = 0; entry < SLOW; entry += 1) await enqueue(world.silent);
      const healthy: string[] = [];
      for (let entry = 0; entry < HEALTHY; entry += 1) healthy.push(await enqueue(world.processor));
      world.clock.advance(HOUR_MS);
      world.fallSilent(callMs);
      const dueMs = world.clock.nowMs();
      await world.everyMinute(1 + ALLOWANCE_MS / MINUTE_MS, run);
      const waits = healthy.map((name) => (world.seen.get(name)?.[0] ?? Infinity) - dueMs);
      expect(Math.max(...waits)).toBeLessThanOrEqual(MINUTE_MS + ALLOWANCE_MS);
    },
    LONG_MS,
  );
});

test('an e-mail is sent by the next run, although many orders wait for a stock that does not respond', async () => {
  const unavailable = () => Promise.reject(new RetryableError('stock_unreachable', 'no'));
  const timeout = () => Promise.reject(new AmbiguousError('postmark_timeout', 'no'));
  for (let order = 0; order < 40; order += 1)
    await world.order(orderRequest(`stock-${order}`), { stock: { ...world.stock, reserve: unavailable } });
  const late = orderRequest('mail');
  await world.order(late, { mailer: { send: timeout } });
  world.clock.advance(HOUR_MS);
  await resolveOrders({ ...world.tools, stock: world.silentStock });
  expect((await world.read(late)).email.status).toBe('sent');
});
