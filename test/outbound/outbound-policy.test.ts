import { beforeEach, describe, expect, test } from '@jest/globals';
import type { OutboundMetric } from '../../lambdas/kernel/contract/metrics.ts';
import { AmbiguousError, RetryableError, TerminalError } from '../../lambdas/kernel/faults.ts';
import type { CallLimit } from '../../lambdas/kernel/world.ts';
import type { OutboundCall } from '../../lambdas/outbound/outbound-calls.ts';
import { createOutboundPolicy, type OutboundPolicy } from '../../lambdas/outbound/outbound-policy.ts';
import type { DeadLetter } from '../../lambdas/outbound/use/dead-letters.ts';
import { fc } from '../support/properties.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';

const HOUR_MS = 3_600_000;

const FAULTS = {
  unreachable: () => new RetryableError('acme_unreachable', 'no'),
  rate_limited: () => new RetryableError('acme_rate_limited', 'no'),
  error: () => new AmbiguousError('acme_error', 'no'),
  timeout: () => new AmbiguousError('acme_timeout', 'no'),
  unauthorized: () => new TerminalError('acme_unauthorized', 'no'),
  refused: () => new TerminalError('acme_refused', 'no'),
} as const;
type FaultName = keyof typeof FAULTS;

describe('the outbound policy', () => {
  let clock: SimulatedClock;
  let startMs: number;
  let jitter: number;
  let deadLetters: DeadLetter[];
  let queuedTo: string[];
  let storesDeadLetters: boolean;
  let counts: OutboundMetric[];
  /** Faults for the next sends, in order. Later sends succeed. */
  let script: (() => Error)[];
  /** In seconds after the start. */
  let sentAt: number[];
  let limits: { readonly atMs: number; readonly timeoutMs: number }[];
  let probes: number;
  let isWell: boolean;
  let policy: OutboundPolicy;

  beforeEach(() => {
    clock = new SimulatedClock();
    startMs = clock.nowMs();
    jitter = 0;
    deadLetters = [];
    queuedTo = [];
    storesDeadLetters = true;
    counts = [];
    script = [];
    sentAt = [];
    limits = [];
    probes = 0;
    isWell = true;
    policy = makePolicy();
  });

  const makePolicy = () =>
    createOutboundPolicy({
      vendor: 'acme',
      clock,
      entropy: { fraction: () => jitter },
      observer: { count: (_vendor, count) => counts.push(count) },
      deadLetters: {
        put: async (deadLetter, queue = 'dead') => {
          queuedTo.push(queue);
          if (!storesDeadLetters) throw new RetryableError('queue_unavailable', 'no');
          deadLetters.push(deadLetter);
        },
      },
      timeoutMs: 8_000,
      probe: async () => {
        probes += 1;
        if (!isWell) throw FAULTS.error();
      },
    });

  const send = async ({ timeoutMs }: CallLimit) => {
    sentAt.push((clock.nowMs() - startMs) / 1_000);
    limits.push({ atMs: clock.nowMs(), timeoutMs });
    const fault = script.shift();
    if (fault !== undefined) throw fault();
    return 'done';
  };
  const call = (changes: Partial<OutboundCall<string>> = {}): OutboundCall<string> =>
    ({
      operation: 'thing.make',
      deadlineMs: startMs + HOUR_MS,
      send,
      idempotent: 'by_key',
      ...changes,
    }) as OutboundCall<string>;
  const times = (count: number, name: FaultName) => Array.from({ length: count }, () => FAULTS[name]);
  const count = (name: OutboundMetric) => counts.filter((counted) => counted === name).length;
  const openBreaker = async () => {
    script = times(5, 'error');
    await policy.call(call()).catch(() => {});
    await policy.call(call({ deadlineMs: clock.nowMs() + 300 })).catch(() => {});
    script = [];
    sentAt = [];
  };

  test('waits at most 0.5, 2 and 5 seconds between attempts, then gives up', async () => {
    script = times(9, 'unreachable');
    await expect(policy.call(call())).rejects.toMatchObject({ name: 'RetryableError', code: 'acme_unreachable' });
    expect(sentAt).toEqual([0, 0.5, 2.5, 7.5]);
    expect(counts).toEqual(['outbound_call', 'outbound_retry', 'outbound_retry', 'outbound_retry', 'outbound_gave_up']);
  });

  test.each([
    ['all of it', 0, [0, 0.5, 2.5, 7.5]],
    ['half', 0.5, [0, 0.25, 1.25, 3.75]],
    ['an eighth', 0.875, [0, 0.0625, 0.3125, 0.9375]],
  ])('waits a random fraction of each step: %s', async (_name, fraction, expected) => {
    script = times(3, 'unreachable');
    jitter = fraction;
    await policy.call(call());
    expect(sentAt).toEqual(expected);
  });

  const retried = (['unreachable', 'rate_limited', 'error', 'timeout'] as const).flatMap((name) =>
    [0, 1, 2, 3].map((failures) => [name, failures] as const),
  );
  test.each(retried)('completes an idempotent call after the fault %s occurs %i times', async (name, failures) => {
    script = times(failures, name);
    expect(await policy.call(call())).toBe('done');
    expect(sentAt).toHaveLength(failures + 1);
    expect(count('outbound_gave_up')).toBe(0);
  });

  test.each([0, 1, 2, 3])('does not retry a refusal that follows %i failures', async (failures) => {
    script = [...times(failures, 'unreachable'), FAULTS.unauthorized];
    await expect(policy.call(call())).rejects.toMatchObject({ name: 'TerminalError', code: 'acme_unauthorized' });
    expect(sentAt).toHaveLength(failures + 1);
  });

  test('throws a bug unchanged, and does not dead-letter it', async () => {
    script = [() => new TypeError('bug')];
    await expect(policy.callOrDeadLetter(call(), {})).rejects.toThrow(TypeError);
    expect(deadLetters).toEqual([]);
    expect(sentAt).toEqual([0]);
  });

  test('retries a send to an unreachable vendor even if the vendor does not recognize idempotency keys', async () => {
    script = times(3, 'unreachable');
    expect(await policy.call(call({ idempotent: 'never' }))).toBe('done');
    expect(sentAt).toHaveLength(4);
  });

  describe('a send without a response', () => {
    test.each(['error', 'timeout'] as const)(
      'is not retried if the vendor does not recognize idempotency keys: %s',
      async (name) => {
        script = times(1, name);
        await expect(policy.call(call({ idempotent: 'never' }))).rejects.toMatchObject({ name: 'AmbiguousError' });
        expect(sentAt).toEqual([0]);
      },
    );

    test.each<[string, FaultName]>([
      ['an unreachable vendor', 'unreachable'],
      ['a rate limit', 'rate_limited'],
      ['a refusal', 'unauthorized'],
    ])('keeps its unknown outcome after a later fault: %s', async (_what, name) => {
      script = [FAULTS.timeout, ...times(4, name)];
      await expect(policy.call(call())).rejects.toMatchObject({ name: 'AmbiguousError', code: 'acme_timeout' });
    });
  });

  describe('a send without a response, at a vendor with a look-up', () => {
    let found: boolean;
    let lookUps: number[];
    let lookUpFaults: (() => Error)[];
    beforeEach(() => {
      found = false;
      lookUps = [];
      lookUpFaults = [];
    });
    const looked = (changes: Partial<OutboundCall<string>> = {}) =>
      call({
        idempotent: 'by_lookup',
        maxLagMs: 20_000,
        lookUp: async ({ timeoutMs }: CallLimit) => {
          lookUps.push((clock.nowMs() - startMs) / 1_000);
          limits.push({ atMs: clock.nowMs(), timeoutMs });
          const fault = lookUpFaults.shift();
          if (fault !== undefined) throw fault();
          return found ? { kind: 'found' as const, answer: 'found' } : { kind: 'absent' as const };
        },
        ...changes,
      });

    test('is not retried if the look-up finds the send', async () => {
      script = times(1, 'timeout');
      found = true;
      expect(await policy.call(looked())).toBe('found');
      expect(sentAt).toEqual([0]);
      expect(lookUps).toEqual([0.5]);
    });

    test('is retried only after a look-up that proves its absence at the vendor', async () => {
      script = times(1, 'timeout');
      expect(await policy.call(looked())).toBe('done');
      expect(lookUps).toEqual([0.5, 20]);
      expect(sentAt).toEqual([0, 20]);
    });

    test('is not sent a third time without another look-up that proves its absence at the vendor', async () => {
      script = times(2, 'timeout');
      await expect(policy.call(looked())).rejects.toMatchObject({ name: 'AmbiguousError' });
      expect(sentAt).toEqual([0, 20]);
      expect(lookUps).toEqual([0.5, 20, 25]);
    });

    test('is not retried if no look-up can prove its absence before the deadline', async () => {
      script = times(1, 'timeout');
      await expect(policy.call(looked({ deadlineMs: startMs + 15_000 }))).rejects.toMatchObject({
        name: 'AmbiguousError',
      });
      expect(sentAt).toEqual([0]);
    });

    test.each(Object.keys(FAULTS) as FaultName[])('is not retried if the look-up fails: %s', async (name) => {
      script = times(1, 'timeout');
      lookUpFaults = times(9, name);
      await expect(policy.call(looked())).rejects.toMatchObject({ name: 'AmbiguousError', code: 'acme_timeout' });
      expect(sentAt).toEqual([0]);
    });

    test('is retried at the end of the search lag, even if an earlier look-up failed', async () => {
      script = times(1, 'timeout');
      lookUpFaults = times(1, 'timeout');
      expect(await policy.call(looked({ maxLagMs: 2_500 }))).toBe('done');
      expect(sentAt).toEqual([0, 2.5]);
    });
  });

  describe('within its time limit:', () => {
    test('a wait that would exceed the deadline is skipped', async () => {
      script = times(9, 'unreachable');
      await policy.call(call({ deadlineMs: startMs + 20_000 })).catch(() => {});
      expect(sentAt).toEqual([0, 0.5, 2.5, 7.5]);
      expect(clock.nowMs()).toBe(startMs + 7_500);
    });

    test('Retry-After is respected', async () => {
      script = [() => new RetryableError('acme_rate_limited', 'no', { retryAfterSeconds: 7 })];
      await policy.call(call());
      expect(sentAt).toEqual([0, 7]);
    });

    test('a Retry-After past the deadline ends the call', async () => {
      script = [() => new RetryableError('acme_rate_limited', 'no', { retryAfterSeconds: 30 })];
      await expect(policy.call(call({ deadlineMs: startMs + 20_000 }))).rejects.toMatchObject({
        code: 'acme_rate_limited',
        retryAfterSeconds: 30,
      });
      expect(clock.nowMs()).toBe(startMs);
    });

    test('nothing is sent if too little time remains', async () => {
      await expect(policy.call(call({ deadlineMs: startMs + 100 }))).rejects.toMatchObject({ code: 'acme_no_time' });
      expect(sentAt).toEqual([]);
    });

    test('no attempt starts that could exceed the deadline, for any faults and durations', async () => {
      const step = fc.record({
        fault: fc.constantFrom(...(Object.keys(FAULTS) as FaultName[])),
        share: fc.double({ min: 0, max: 1, noNaN: true }),
      });
      await fc.assert(
        fc.asyncProperty(
          fc.array(step, { maxLength: 6 }),
          fc.integer({ min: 0, max: 60_000 }),
          async (steps, restMs) => {
            const deadlineMs = clock.nowMs() + restMs;
            policy = makePolicy();
            const pending = [...steps];
            limits = [];
            const slow = async (limit: CallLimit) => {
              limits.push({ atMs: clock.nowMs(), timeoutMs: limit.timeoutMs });
              const next = pending.shift();
              clock.advance((next?.share ?? 0) * limit.timeoutMs);
              if (next !== undefined) throw FAULTS[next.fault]();
              return 'done';
            };
            await policy.call(call({ deadlineMs, send: slow })).catch(() => {});
            expect(limits.filter(({ atMs, timeoutMs }) => atMs + timeoutMs > deadlineMs)).toEqual([]);
            expect(clock.nowMs()).toBeLessThanOrEqual(deadlineMs);
          },
        ),
      );
    });
  });

  describe('an open breaker', () => {
    test('blocks calls, and uses a read as its probe', async () => {
      await openBreaker();
      isWell = false;
      await expect(policy.call(call({ deadlineMs: clock.nowMs() + 9_000 }))).rejects.toMatchObject({
        code: 'acme_circuit_open',
      });
      expect([sentAt, probes]).toEqual([[], 0]);
      clock.advance(10_000);
      await expect(policy.call(call({ deadlineMs: clock.nowMs() + 9_000 }))).rejects.toMatchObject({
        code: 'acme_circuit_open',
      });
      expect([sentAt, probes]).toEqual([[], 1]);
      isWell = true;
      clock.advance(10_000);
      await policy.call(call());
      expect([sentAt.length, probes]).toEqual([1, 2]);
    });

    test('lets twenty waiting calls share one probe', async () => {
      await openBreaker();
      clock.advance(10_000);
      await Promise.all(Array.from({ length: 20 }, () => policy.call(call())));
      expect([sentAt.length, probes]).toEqual([20, 1]);
    });

    test('refuses a call whose deadline leaves no time for the probe', async () => {
      await openBreaker();
      clock.advance(10_000);
      await expect(policy.call(call({ deadlineMs: clock.nowMs() + 2_000 }))).rejects.toMatchObject({
        code: 'acme_circuit_open',
      });
      expect(probes).toBe(0);
    });

    test.each(['refused', 'rate_limited'] as const)('is not caused by five consecutive faults %s', async (name) => {
      script = times(5, name);
      while (script.length > 0) await policy.call(call()).catch(() => {});
      expect([sentAt.length >= 5, count('outbound_breaker_opened')]).toEqual([true, 0]);
    });
  });

  test('retries a read after each of three timeouts', async () => {
    script = times(3, 'timeout');
    expect(await policy.read({ operation: 'thing.find', deadlineMs: startMs + HOUR_MS, send })).toBe('done');
  });

  describe('a dead letter', () => {
    const payload = { reference: 'r-1', items: [1, 2] };

    test('contains the payload, the attempts and the reason, and says whether the call may have been applied', async () => {
      script = times(9, 'unreachable');
      expect(await policy.callOrDeadLetter(call(), payload)).toEqual({
        kind: 'dead_lettered',
        reason: 'acme_unreachable',
        mayBeApplied: false,
      });
      expect(deadLetters).toEqual([
        {
          vendor: 'acme',
          operation: 'thing.make',
          payload,
          attempts: 4,
          reason: 'acme_unreachable',
          mayBeApplied: false,
        },
      ]);
      expect(count('outbound_dead_lettered')).toBe(1);
    });

    test('is preceded by a delayed message with the subject of the call, if the caller requests a delay', async () => {
      script = times(9, 'unreachable');
      const kept = await policy.callOrDeadLetter(call({ about: 'ord_1' }), payload, 'delay');
      expect(kept).toEqual({ kind: 'delayed', reason: 'acme_unreachable', mayBeApplied: false });
      expect(deadLetters).toMatchObject([{ about: 'ord_1', attempts: 4 }]);
      expect([queuedTo, count('outbound_delayed'), count('outbound_dead_lettered')]).toEqual([['delayed'], 1, 0]);
    });

    test('is stored immediately after a refusal, because a later attempt would also be refused', async () => {
      script = times(1, 'unauthorized');
      expect(await policy.callOrDeadLetter(call(), payload, 'delay')).toMatchObject({ kind: 'dead_lettered' });
      expect([sentAt, queuedTo]).toEqual([[0], ['dead']]);
    });

    test('is marked as possibly applied if the call timed out', async () => {
      script = times(1, 'timeout');
      await policy.callOrDeadLetter(call({ idempotent: 'never' }), payload);
      expect(deadLetters).toMatchObject([{ attempts: 1, reason: 'acme_timeout', mayBeApplied: true }]);
    });

    test('is marked as possibly applied even if the last attempt is refused by an open breaker', async () => {
      isWell = false;
      script = times(4, 'error');
      await policy.call(call()).catch(() => {});
      script = times(1, 'timeout');
      await policy.callOrDeadLetter(call(), payload, 'delay');
      expect(count('outbound_breaker_opened')).toBeGreaterThan(0);
      expect(deadLetters).toMatchObject([{ attempts: 1, reason: 'acme_timeout', mayBeApplied: true }]);
    });

    test('is not created if the call succeeds or the caller does not request a dead letter', async () => {
      await policy.callOrDeadLetter(call(), payload);
      script = times(9, 'unreachable');
      await policy.call(call()).catch(() => {});
      expect(deadLetters).toEqual([]);
    });

    test('does not replace the error of the call if it cannot be stored', async () => {
      storesDeadLetters = false;
      script = times(1, 'timeout');
      await expect(policy.callOrDeadLetter(call({ idempotent: 'never' }), payload)).rejects.toMatchObject({
        name: 'AmbiguousError',
        code: 'acme_timeout',
      });
      expect(count('outbound_dead_letter_failed')).toBe(1);
    });
  });
});
