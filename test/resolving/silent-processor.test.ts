/** Tests that a processor that does not respond delays no work that concerns another processor. */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { storedOperationId } from '../../lambdas/kernel/ids.ts';
import { expireAuthorizationsJob } from '../../lambdas/resolving/use/expire-authorizations.ts';
import { resolveInquiries } from '../../lambdas/resolving/use/resolve.ts';
import { retryOrphans } from '../../lambdas/resolving/use/retry-orphans.ts';
import { sweepJob } from '../jobs/sweep-job.ts';
import { whole } from '../support/slice.ts';
import { type Enqueue, SilentWorld } from './silent-world.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const LONG_MS = 600_000;

/** Entries of the silent processor: `SILENT` in the queues of inquiries, `FEW_SILENT` in each other queue. */
const SILENT = whole(6_000, { slice: 400 });
const FEW_SILENT = whole(6_000, { slice: 120 });
const HEALTHY = 10;
/** Time to read all entries once, at 1,000 entries a minute, in milliseconds. */
const ALLOWANCE_MS = Math.ceil(SILENT / 1_000) * MINUTE_MS;

let world: SilentWorld;
beforeEach(() => {
  world = new SilentWorld();
});

const payer: Enqueue = (at) => world.paid({ source: 'tok_action' })(at);
const held: Enqueue = (at) => world.paid({ capture: 'manual' })(at);
const resolve = () => world.sweep();
const begin = (enqueue: Enqueue, silent: number, afterMs: number) => world.begin(enqueue, [silent, HEALTHY], afterMs);

/** Returns the longest time without a call about this payment or charge since `fromMs`, in milliseconds. */
function longestGapMs(name: string, fromMs: number): number {
  const times = [fromMs, ...(world.seen.get(name) ?? []), world.clock.nowMs()];
  return Math.max(...times.map((atMs, index) => (times[index + 1] ?? atMs) - atMs));
}
const worstGapMs = (healthy: readonly string[], fromMs: number) =>
  Math.max(...healthy.map((name) => longestGapMs(name, fromMs)));

test(
  'routine look-ups stay on time and unknown outcomes are checked within a minute, although many payers wait at a silent processor',
  async () => {
    const waiting = await begin(payer, SILENT, 0);
    const fromMs = world.clock.nowMs();
    const unknowns = new Map<string, number>();
    await world.everyMinute(60, async (startedAtMs, minute) => {
      if (minute % 7 === 0) unknowns.set(await world.unknown(world.processor), startedAtMs);
      await resolve();
    });
    expect(worstGapMs(waiting, fromMs)).toBeLessThanOrEqual(15 * MINUTE_MS + ALLOWANCE_MS);
    const waits = [...unknowns].map(([name, atMs]) => (world.seen.get(name)?.[0] ?? Infinity) - atMs);
    expect(Math.max(...waits)).toBeLessThanOrEqual(MINUTE_MS);
    expect(world.unanswered).toBeGreaterThan(0);
  },
  LONG_MS,
);

describe('despite many entries of a processor that does not respond', () => {
  test.each<readonly [string, Enqueue, number, number, number]>([
    ['an unknown outcome', (at) => world.unknown(at), SILENT, 3 * HOUR_MS, 15 * MINUTE_MS],
    ['a stale claim', (at) => world.claimed(at), FEW_SILENT, HOUR_MS, MINUTE_MS],
    ['a charge to return', (at) => world.owed(at), FEW_SILENT, 2 * HOUR_MS, 15 * MINUTE_MS],
  ])(
    '%s is checked within its interval plus the time to read all entries',
    async (_what, enqueue, silent, afterMs, intervalMs) => {
      const healthy = await begin(enqueue, silent, afterMs);
      const fromMs = world.clock.nowMs();
      const mostMs = intervalMs + ALLOWANCE_MS;
      await world.everyMinute(mostMs / MINUTE_MS + 1, () => resolve());
      const waits = healthy.map((name) => (world.seen.get(name)?.[0] ?? Infinity) - fromMs);
      expect(Math.max(...waits)).toBeLessThanOrEqual(mostMs);
    },
    LONG_MS,
  );

  test(
    'an orphaned callback is retried within the time to read all entries',
    async () => {
      const healthy = await begin(world.orphaned, FEW_SILENT, 0);
      const fromMs = world.clock.nowMs();
      await world.everyMinute(10, (startedAtMs) => retryOrphans(world.tools, startedAtMs));
      expect(worstGapMs(healthy, fromMs)).toBeLessThanOrEqual(2 * MINUTE_MS + ALLOWANCE_MS);
    },
    LONG_MS,
  );

  test(
    'a hold is voided by the first run after its expiry',
    async () => {
      const healthy = await begin(held, FEW_SILENT, 8 * DAY_MS);
      const fromMs = world.clock.nowMs();
      await sweepJob(expireAuthorizationsJob(world.tools), { nowMs: fromMs });
      expect(worstGapMs(healthy, fromMs)).toBeLessThanOrEqual(10 * MINUTE_MS);
    },
    LONG_MS,
  );
});

test.each([
  ['is repeated within 15 minutes if the open breaker refused it', 'processor_circuit_open', 1],
  ['is repeated a day later if the processor did not respond', 'processor_timeout', 0],
])('a look-up that is made once a day %s', async (_what, code, soon) => {
  const asked = world.request();
  const { paymentId } = asked;
  await world.pay(asked);
  const { payment } = (await world.chain(asked)).state;
  const operationId = storedOperationId(payment.chargeId ?? '');
  const inquiry = { operationId, paymentId, claimedAtMs: world.clock.nowMs(), waitsFor: 'bank' } as const;
  await world.enqueue('pending', { inquiries: [inquiry] });
  world.clock.advance(3 * DAY_MS);
  const readCharge = () => Promise.reject(new RetryableError(code, 'no'));
  await resolveInquiries({ ...world.tools, books: [{ ...world.processor, readCharge }] });
  const due = (afterMs: number) => world.store.routineInquiries({ untilMs: world.clock.nowMs() + afterMs, limit: 10 });
  expect(await due(0)).toEqual([]);
  expect(await due(15 * MINUTE_MS)).toHaveLength(soon);
  expect(await due(DAY_MS + MINUTE_MS)).toHaveLength(1);
});
