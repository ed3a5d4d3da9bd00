import { setImmediate } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { OutboundMetric } from '../../lambdas/kernel/contract/metrics.ts';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import type { Clock } from '../../lambdas/kernel/world.ts';
import { createOutboundPolicy } from '../../lambdas/outbound/outbound-policy.ts';
import { inTurn } from '../support/slice.ts';

const CALLS_PER_SECOND = 50;
const OUTAGE_SECONDS = 600;
const AFTERWARDS_SECONDS = 120;

/** Large, so that ten simulated minutes take few steps. */
const TICK_MS = 10;

/** For concurrent callers: a sleeping caller wakes only after all work that was due earlier is done. */
class SharedClock implements Clock {
  #nowMs = 0;
  readonly #sleepers = new Map<number, (() => void)[]>();

  nowMs(): number {
    return this.#nowMs;
  }

  sleep(ms: number): Promise<void> {
    const atMs = this.#nowMs + Math.max(1, Math.round(ms / TICK_MS)) * TICK_MS;
    return new Promise((resolve) => {
      this.#sleepers.set(atMs, [...(this.#sleepers.get(atMs) ?? []), resolve]);
    });
  }

  async runUntil(endMs: number): Promise<void> {
    for (; this.#nowMs <= endMs; this.#nowMs += TICK_MS) {
      const due = this.#sleepers.get(this.#nowMs) ?? [];
      this.#sleepers.delete(this.#nowMs);
      for (const wake of due) wake();
      if (due.length > 0) await setImmediate();
    }
  }
}

/** Lehmer random number generator (Park and Miller, 1988). */
function seededFraction(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

interface Load {
  readonly seed: number;
  /** Time until a caller's deadline, in milliseconds. */
  readonly patienceMs: number;
  readonly deadLetters: boolean;
  /** `luck` is a random fraction. */
  readonly fails: (atMs: number, luck: number) => boolean;
}

async function run({ seed, patienceMs, deadLetters, fails }: Load) {
  const clock = new SharedClock();
  const luck = seededFraction(seed);
  const reached: { readonly atMs: number; readonly by: 'read' | 'write' }[] = [];
  const counts: Partial<Record<OutboundMetric, number>> = {};
  const answered: number[] = [];
  let deadLettered = 0;
  let thrown = 0;
  let kept = 0;
  let late = 0;

  const callVendor = async (by: 'read' | 'write') => {
    reached.push({ atMs: clock.nowMs(), by });
    await clock.sleep(50);
    if (!fails(clock.nowMs(), luck())) return;
    throw luck() < 0.5 ? new AmbiguousError('acme_error', 'no') : new RetryableError('acme_unreachable', 'no');
  };
  const policy = createOutboundPolicy({
    vendor: 'acme',
    clock,
    entropy: { fraction: seededFraction(seed + 1) },
    observer: {
      count: (_vendor, count) => {
        counts[count] = (counts[count] ?? 0) + 1;
      },
    },
    deadLetters: {
      put: async () => {
        kept += 1;
      },
    },
    timeoutMs: 8_000,
    probe: () => callVendor('read'),
  });

  const makeCall = async (begunAtMs: number) => {
    const deadlineMs = begunAtMs + patienceMs;
    const call = {
      operation: 'thing.make',
      deadlineMs,
      idempotent: 'by_key' as const,
      send: async () => {
        await callVendor('write');
        return { kind: 'answered' as const };
      },
    };
    try {
      const outcome = await (deadLetters ? policy.callOrDeadLetter(call, { begunAtMs }) : policy.call(call));
      if (outcome.kind === 'answered') answered.push(begunAtMs);
      else deadLettered += 1;
    } catch {
      thrown += 1;
    }
    if (clock.nowMs() > deadlineMs) late += 1;
  };
  const seconds = OUTAGE_SECONDS + AFTERWARDS_SECONDS;
  const load = async () => {
    const calls: Promise<void>[] = [];
    for (let made = 0; made < seconds * CALLS_PER_SECOND; made += 1) {
      calls.push(makeCall(clock.nowMs()));
      await clock.sleep(1_000 / CALLS_PER_SECOND);
    }
    await Promise.all(calls);
  };
  const done = load();
  await clock.runUntil((seconds + 120) * 1_000);
  await done;
  return { reached, counts, answered, deadLettered, thrown, kept, late, made: seconds * CALLS_PER_SECOND };
}

const isDead = (atMs: number) => atMs < OUTAGE_SECONDS * 1_000;
const CALLERS = [
  ['background callers with a deadline of two minutes', { seed: 7, patienceMs: 120_000, deadLetters: true }],
  ['requests with a deadline of twenty seconds', { seed: 11, patienceMs: 20_000, deadLetters: false }],
] as const;

for (const [place, [name, callers]] of CALLERS.entries()) {
  inTurn(describe, { place, of: 3, otherwise: describe.skip })(
    `a ten-minute outage at fifty calls per second: ${name}`,
    () => {
      let history: Awaited<ReturnType<typeof run>>;
      beforeAll(async () => {
        history = await run({ ...callers, fails: isDead });
      });

      test('attempts stay within 1.2 × the budget: five failures, plus one probe every ten seconds', () => {
        const { reached } = history;
        const budget = 5 + OUTAGE_SECONDS / 10;
        expect(reached.filter(({ atMs }) => isDead(atMs)).length).toBeLessThanOrEqual(1.2 * budget);
        expect(reached.filter(({ atMs }) => isDead(atMs)).length).toBeGreaterThan(50);
      });

      test('the breaker opens, and then only reads are sent', () => {
        const { reached, counts } = history;
        expect(counts.outbound_breaker_opened).toBeGreaterThan(50);
        expect(reached.filter(({ atMs, by }) => atMs > 1_000 && isDead(atMs) && by === 'write')).toEqual([]);
      });

      test('recovery causes no burst: in every second, the calls stay within 1.2 × the load plus the reserve of ten', () => {
        const { reached } = history;
        const perSecond = new Map<number, number>();
        for (const { atMs } of reached) {
          const second = Math.floor(atMs / 1_000);
          perSecond.set(second, (perSecond.get(second) ?? 0) + 1);
        }
        expect(Math.max(...perSecond.values())).toBeLessThanOrEqual(1.2 * CALLS_PER_SECOND + 10);
        expect(Math.max(...perSecond.values())).toBeGreaterThanOrEqual(CALLS_PER_SECOND);
      });

      test('every call that starts eleven seconds or more after the recovery succeeds', () => {
        const { answered } = history;
        const backMs = (OUTAGE_SECONDS + 11) * 1_000;
        const begunSince = answered.filter((begunAtMs) => begunAtMs >= backMs);
        expect(begunSince).toHaveLength((AFTERWARDS_SECONDS - 11) * CALLS_PER_SECOND);
      });

      test('every call succeeds, is dead-lettered or throws by its deadline', () => {
        const { answered, deadLettered, thrown, kept, late, made } = history;
        expect(answered.length + deadLettered + thrown).toBe(made);
        expect(kept).toBe(deadLettered);
        expect(callers.deadLetters ? thrown : deadLettered).toBe(0);
        expect(late).toBe(0);
      });
    },
  );
}

inTurn(test, { place: 2, of: 3, otherwise: test.skip })(
  'a vendor that fails one call in four for twelve minutes gets at most 1.2 × the calls, plus the reserve of ten',
  async () => {
    const { counts, reached } = await run({
      seed: 23,
      patienceMs: 120_000,
      deadLetters: true,
      fails: (_atMs, luck) => luck < 0.25,
    });
    const writes = reached.filter(({ by }) => by === 'write').length;
    const { outbound_call: calls = 0, outbound_retry: retries = 0 } = counts;
    expect(writes).toBe(calls + retries);
    expect(calls).toBeGreaterThan(10_000);
    expect(retries).toBeGreaterThan(1_000);
    expect(writes).toBeLessThanOrEqual(1.2 * calls + 10);
  },
);
