import { beforeEach, describe, expect, test } from '@jest/globals';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { totalKey, type ViewKey } from '../../lambdas/views/domain/lists.ts';
import { type ViewRow } from '../../lambdas/views/domain/views.ts';
import { closeDays } from '../../lambdas/views/use/close-days.ts';
import { projectEvent } from '../../lambdas/views/use/project-event.ts';
import { ViewLedgerReader } from '../../lambdas/views/use/view-ledger-reader.ts';
import type { ViewRange } from '../../lambdas/views/use/view-store.ts';
import { eventsOf } from '../events/event-fixtures.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { takenAt } from './ledger-reader-suite.ts';
import { MemoryViews } from './memory-views.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const HOUR_MS = 60 * 60 * 1000;
const MONDAY_MS = Date.UTC(2026, 2, 2);
const owner = { tenantId: tenantId('ten_days'), mode: 'test' as const };

let views: MemoryViews;
let clock: SimulatedClock;

beforeEach(() => {
  views = new MemoryViews();
  clock = new SimulatedClock(MONDAY_MS + DAY_MS + HOUR_MS);
});

const project = async (key: string, atMs: number, store = views): Promise<void> => {
  for (const event of eventsOf(systemDigest, takenAt(owner, key, atMs, { feeMinor: 0 })))
    await projectEvent({ runner: idempotentRunner, views: store }, event);
};
const close = (store = views, atMost = 10) =>
  closeDays({ views: store, clock, entropy: countingEntropy() }, owner, atMost);

async function payableAndReads(): Promise<{ readonly payable: number; readonly read: number }> {
  let read = 0;
  const counting = {
    range: async (range: ViewRange): Promise<readonly ViewRow[]> => {
      const rows = await views.range(range);
      if (range.partition.startsWith('BOOK#')) read += rows.length;
      return rows;
    },
  };
  const balances = await new ViewLedgerReader(counting).balances(owner);
  return { payable: balances.find(({ account }) => account === 'merchant_payable')?.creditMinor ?? 0, read };
}

/** The action runs once, immediately before the closer writes its total. */
class Interrupted extends MemoryViews {
  readonly #act: () => Promise<void>;
  #exchanges = 0;

  constructor(act: () => Promise<void>) {
    super();
    this.#act = act;
  }

  override async exchange(changes: Parameters<MemoryViews['exchange']>[0]): Promise<boolean> {
    const isTotal = changes[0]?.to?.body.includes('"kind":"total"') ?? false;
    this.#exchanges += isTotal ? 1 : 0;
    if (isTotal && this.#exchanges === 1) await this.#act();
    return super.exchange(changes);
  }
}

describe('a day', () => {
  test('is read from its total instead of its entries after it was closed', async () => {
    await project('a', MONDAY_MS);
    await project('b', MONDAY_MS + DAY_MS);
    expect(await payableAndReads()).toEqual({ payable: 2000, read: 2 });

    expect(await close()).toEqual({ closed: 1, more: false });
    expect(await payableAndReads()).toEqual({ payable: 2000, read: 1 });
    expect(await close()).toEqual({ closed: 0, more: false });
  });

  test('is closed no earlier than an hour after its end', async () => {
    await project('a', MONDAY_MS);
    clock.advance(-1);
    expect((await close()).closed).toBe(0);
    clock.advance(1);
    expect((await close()).closed).toBe(1);
  });

  test('is reopened by a late entry, which is included immediately, and is closed again together with this entry', async () => {
    await project('a', MONDAY_MS);
    await close();
    await project('late', MONDAY_MS + HOUR_MS);
    await project('late', MONDAY_MS + HOUR_MS);

    expect(await views.read(totalKey(owner, MONDAY_MS))).toBeUndefined();
    expect(await payableAndReads()).toEqual({ payable: 2000, read: 2 });
    expect(await close()).toEqual({ closed: 1, more: false });
    expect(await payableAndReads()).toEqual({ payable: 2000, read: 0 });
  });

  test('has no total before its end, so projecting an event reads the total only after the end', async () => {
    const read: ViewKey[] = [];
    class Recorded extends MemoryViews {
      override read(key: ViewKey) {
        read.push(key);
        return super.read(key);
      }
    }
    const store = new Recorded();
    const [event] = eventsOf(systemDigest, takenAt(owner, 'a', MONDAY_MS, { feeMinor: 0 }));
    if (event === undefined) throw new Error('the payment has no event');
    for (const nowMs of [MONDAY_MS + DAY_MS - 1, MONDAY_MS + DAY_MS]) {
      await store.clear();
      read.length = 0;
      await projectEvent({ runner: idempotentRunner, views: store, clock: { nowMs: () => nowMs } }, event);
      expect(read).toEqual(nowMs < MONDAY_MS + DAY_MS ? [] : [totalKey(owner, MONDAY_MS)]);
    }
  });

  test('stays closed when an event is redelivered', async () => {
    await project('a', MONDAY_MS);
    await close();
    await project('a', MONDAY_MS);

    expect((await payableAndReads()).read).toBe(0);
  });

  test('is not closed if an entry arrives while its total is computed', async () => {
    const interrupted: Interrupted = new Interrupted(() => project('rival', MONDAY_MS + HOUR_MS, interrupted));
    views = interrupted;
    await project('a', MONDAY_MS);

    expect(await close()).toEqual({ closed: 0, more: true });
    expect((await payableAndReads()).payable).toBe(2000);
    expect(await close()).toEqual({ closed: 1, more: false });
    expect((await payableAndReads()).payable).toBe(2000);
  });

  test('is not closed by a second process while the process that began to close it may still be running', async () => {
    const interrupted: Interrupted = new Interrupted(async () => {
      expect(await close(interrupted)).toEqual({ closed: 0, more: true });
    });
    views = interrupted;
    await project('a', MONDAY_MS);

    expect(await close()).toEqual({ closed: 1, more: false });
    expect(await payableAndReads()).toEqual({ payable: 1000, read: 0 });
  });

  test('is closed by another process after the process that began to close it has crashed', async () => {
    const interrupted: Interrupted = new Interrupted(async () => {
      clock.advance(5 * 60_000);
      expect(await close(interrupted)).toEqual({ closed: 1, more: false });
    });
    views = interrupted;
    await project('a', MONDAY_MS);

    expect(await close()).toEqual({ closed: 0, more: true });
    expect(await payableAndReads()).toEqual({ payable: 1000, read: 0 });
  });

  test('is closed before newer days if a call closes only a limited number of days', async () => {
    await project('a', MONDAY_MS - 4 * DAY_MS);
    await project('b', MONDAY_MS);

    expect(await close(views, 2)).toEqual({ closed: 2, more: true });
    expect(await views.read(totalKey(owner, MONDAY_MS - 4 * DAY_MS))).toBeDefined();
    expect(await close(views, 9)).toEqual({ closed: 3, more: false });
    expect(await payableAndReads()).toEqual({ payable: 2000, read: 0 });
  });
});
