import { beforeEach, describe, expect, test } from '@jest/globals';
import { AmbiguousError, RetryableError, TerminalError } from '../../lambdas/kernel/faults.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import type { DeadLetter, DeadLetterStore } from '../../lambdas/outbound/use/dead-letters.ts';
import {
  type CallMadeAgain,
  listDeadLetters,
  redriveDeadLetters,
} from '../../lambdas/outbound/use/redrive-dead-letters.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { deadLetter, keyOf } from './dead-letter-fixtures.ts';
import { MemoryDeadLetterStore } from './memory-dead-letter-store.ts';

class Died extends Error {}

describe('dead letters', () => {
  let clock: SimulatedClock;
  let deadLetters: MemoryDeadLetterStore;
  /** Keys of the calls that the vendor has applied. */
  let applied: string[];
  let reported: unknown[];

  beforeEach(async () => {
    clock = new SimulatedClock();
    deadLetters = new MemoryDeadLetterStore(clock);
    applied = [];
    reported = [];
  });

  const apply = async (one: DeadLetter): Promise<CallMadeAgain> => {
    if (!applied.includes(keyOf(one))) applied.push(keyOf(one));
    return { kind: 'applied' };
  };
  const run = (atMost = 100) => ({ deadlineMs: clock.nowMs() + 240_000, atMost });
  const redrive = (
    makeAgain: (one: DeadLetter) => Promise<CallMadeAgain> = apply,
    box: DeadLetterStore = deadLetters,
  ) =>
    redriveDeadLetters(
      { deadLetters: box, makeAgain, runner: idempotentRunner, clock, report: (error) => void reported.push(error) },
      run(),
    );
  const list = async () => listDeadLetters({ deadLetters, clock }, run());
  const put = async (...keys: string[]) => {
    for (const key of keys) await deadLetters.put(deadLetter(key));
  };

  test('are listed with their reasons but not their payloads, and remain stored', async () => {
    await put('k-1', 'k-2');
    const listed = await list();
    expect(listed).toMatchObject([{ state: 'kept', reason: 'postmark_account' }, { state: 'kept' }]);
    expect(JSON.stringify(listed)).not.toContain('k-1');
    expect(await list()).toEqual(listed);
  });

  test('are each redriven once and then removed', async () => {
    await put(...Array.from({ length: 25 }, (_, index) => `k-${index}`));
    expect(await redrive()).toHaveLength(25);
    expect(applied).toHaveLength(25);
    expect(await list()).toEqual([]);
  });

  test('are redriven up to the requested number', async () => {
    await put('k-1', 'k-2', 'k-3');
    await redriveDeadLetters(
      { deadLetters, makeAgain: apply, runner: idempotentRunner, clock, report: () => {} },
      run(2),
    );
    expect([applied.length, (await list()).length]).toEqual([2, 1]);
  });

  test.each([
    ['postmark_circuit_open', RetryableError],
    ['postmark_timeout', AmbiguousError],
    ['postmark_unauthorized', TerminalError],
  ])('remain stored and are reported with the reason if they fail again: %s', async (reason, Fault) => {
    await put('k-1');
    const failing = async () => Promise.reject(new Fault(reason, 'again'));
    expect(await redrive(failing)).toMatchObject([{ state: 'stays', reason }]);
    expect(await list()).toHaveLength(1);
    expect(await redrive()).toMatchObject([{ state: 'applied' }]);
    expect(applied).toEqual(['k-1']);
  });

  test('are removed if the vendor refuses the call, because a retry would be refused too', async () => {
    await put('k-1');
    expect(await redrive(async () => ({ kind: 'refused', reason: 'inactive_recipient' }))).toMatchObject([
      { state: 'refused', reason: 'inactive_recipient' },
    ]);
    expect(await list()).toEqual([]);
  });

  test('that are unreadable or trigger a bug remain stored; all others are redriven', async () => {
    await put('k-1');
    deadLetters.putUnreadable();
    await put('k-bug', 'k-2');
    const reports = await redrive(async (one) => {
      if (keyOf(one) === 'k-bug') throw new TypeError('a bug');
      return apply(one);
    });
    expect(reports.map(({ state, reason }) => [state, reason])).toEqual([
      ['applied', 'postmark_account'],
      ['stays', 'dead_letter_unreadable'],
      ['stays', 'internal_error'],
      ['applied', 'postmark_account'],
    ]);
    expect(reported).toEqual([expect.any(TypeError)]);
    expect(await list()).toHaveLength(2);
  });

  describe('are each applied once even if the redrive crashes', () => {
    const dying = (at: 'before removal' | 'after removal'): DeadLetterStore => ({
      put: (one) => deadLetters.put(one),
      take: (atMost) => deadLetters.take(atMost),
      release: () => Promise.reject(new Died()),
      remove: async (taken) => {
        if (at === 'after removal') await deadLetters.remove(taken);
        throw new Died();
      },
    });
    const HIDDEN_MS = 6 * 60_000;

    test.each(['before removal', 'after removal'] as const)('%s', async (at) => {
      await put('k-1', 'k-2', 'k-3');
      for (let deaths = 1; deaths <= 2; deaths += 1) {
        await expect(redrive(apply, dying(at))).rejects.toThrow(Died);
        clock.advance(HIDDEN_MS);
      }
      await redrive();
      expect(applied).toEqual(['k-1', 'k-2', 'k-3']);
      expect(await list()).toEqual([]);
    });

    test('in the middle of a vendor call', async () => {
      await put('k-1', 'k-2');
      const never = new Promise<CallMadeAgain>(() => {});
      void redrive(async (one) => {
        await apply(one);
        return never;
      });
      expect(await list()).toEqual([]);
      clock.advance(HIDDEN_MS);
      expect(await redrive()).toHaveLength(2);
      expect(applied).toEqual(['k-1', 'k-2']);
    });
  });

  test('remain stored if their call could exceed the deadline of the run', async () => {
    await put('k-1', 'k-2', 'k-3');
    const slow = async (one: DeadLetter) => {
      clock.advance(110_000);
      return apply(one);
    };
    await redrive(slow);
    expect(applied).toHaveLength(3);
    await put('k-4', 'k-5', 'k-6');
    const slower = async (one: DeadLetter) => {
      clock.advance(230_000);
      return apply(one);
    };
    expect(await redrive(slower)).toHaveLength(1);
    expect(await list()).toHaveLength(2);
  });
});
