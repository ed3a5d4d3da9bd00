/** Tests that a system that responds slowly, or not at all, delays no work that waits for another system. */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import { resolveOrders } from '../../lambdas/resolving/use/resolve-orders.ts';
import { retryOrphans } from '../../lambdas/resolving/use/retry-orphans.ts';
import { orderRequest } from '../orders/order-fixtures.ts';
import { whole } from '../support/slice.ts';
import { type Enqueue, SilentWorld } from './silent-world.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const LONG_MS = 600_000;

const SLOW = whole(900, { slice: 100 });
const HEALTHY = 20;
/** Time to read all entries once, at 1,000 entries a minute, in milliseconds. */
const ALLOWANCE_MS = Math.ceil((SLOW + HEALTHY) / 1_000) * MINUTE_MS;

let world: SilentWorld;
beforeEach(() => {
  world = new SilentWorld();
});

const resolve = () => world.sweep();
const retry = (startedAtMs: number) => retryOrphans(world.tools, startedAtMs);

describe('behind the entries of a processor that responds slowly', () => {
  test.each<readonly [string, Enqueue, number, (startedAtMs: number) => Promise<unknown>]>([
    ['a routine look-up', (at) => world.paid({ source: 'tok_action' })(at), 4_000, resolve],
    ['an unknown outcome', (at) => world.unknown(at), 1_900, resolve],
    ['an unknown outcome whose charges are read', (at) => world.unknown(at), 4_000, resolve],
    ['a stale claim', (at) => world.claimed(at), 1_900, resolve],
    ['a charge to return', (at) => world.owed(at), 4_000, resolve],
    ['an orphaned callback', (at) => world.orphaned(at), 4_900, retry],
  ])(
    '%s is checked within the time to read all entries',
    async (_what, enqueue, callMs, run) => {
      const healthy = await world.begin(enqueue, [SLOW, HEALTHY], HOUR_MS, callMs);
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
