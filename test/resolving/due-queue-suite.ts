import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Hold } from '../../lambdas/payments/use/payment-store.ts';
import type { DueQueue, DueRange } from '../../lambdas/resolving/use/due-queue.ts';
import { paymentIdFor } from '../payments/payment-fixtures.ts';

export interface HoldsUnderTest {
  readonly holds: DueQueue<Hold>;
  readonly write: (hold: Hold) => Promise<void>;
}

const T0 = Date.UTC(2026, 2, 1, 12);
/** Suffices for pages of one row, even with the rows of earlier tests. */
const MAX_PAGES = 60;

/** Uses the queue of holds for the contract of every DueQueue. */
export function describeHolds(name: string, make: () => Promise<HoldsUnderTest>): void {
  let made = 0;
  let holds: DueQueue<Hold>;
  let write: HoldsUnderTest['write'];
  let own: readonly Hold[];

  beforeEach(async () => {
    ({ holds, write } = await make());
    made += 1;
    own = Array.from({ length: 9 }, (_, each) => ({
      paymentId: paymentIdFor(`hold-${process.pid}-${made}-${each}`),
      authorizedAtMs: T0 + each * 1_000,
    }));
    for (const hold of own) await write(hold);
  });

  async function listed(beforeMs: number, range: Omit<DueRange, 'cursor'>): Promise<readonly Hold[]> {
    const found: Hold[] = [];
    let cursor: string | undefined;
    for (let pages = 0; pages < MAX_PAGES; pages += 1) {
      const page = await holds.dueBefore(beforeMs, { ...range, ...(cursor === undefined ? {} : { cursor }) });
      expect(page.rows.length).toBeLessThanOrEqual(range.limit);
      found.push(...page.rows.map(({ row }) => row));
      if (page.next === undefined) break;
      cursor = page.next;
    }
    const ids = new Set(own.map(({ paymentId }) => paymentId));
    return found.filter(({ paymentId }) => ids.has(paymentId));
  }

  const before = (beforeMs: number, limit: number) => listed(beforeMs, { limit });

  async function firstRows(pages: number) {
    let page = await holds.dueBefore(T0 + 100_000, { limit: 100 });
    const rows = [...page.rows];
    for (let read = 1; read < pages && page.next !== undefined; read += 1) {
      page = await holds.dueBefore(T0 + 100_000, { limit: 100, cursor: page.next });
      rows.push(...page.rows);
    }
    return rows;
  }

  describe(`the ${name} queue of holds`, () => {
    test('returns one empty page if nothing is due', async () => {
      expect(await holds.dueBefore(T0, { limit: 100 })).toEqual({ rows: [] });
    });

    test('returns each row that is due before the requested time once, in pages of any size', async () => {
      expect(await before(T0 + 5_000, 100)).toEqual(own.slice(0, 5));
      expect(await before(T0 + 100_000, 2)).toEqual(own);
      expect(await before(T0, 100)).toEqual([]);
    });

    test('can be read from the cursor of any row', async () => {
      const [first, second] = await firstRows(2);
      if (first === undefined) throw new Error('the queue has no row');
      const { rows: later } = await holds.dueBefore(T0 + 100_000, { limit: 100, cursor: first.cursor });
      expect(later[0]).toEqual(second);
    });

    test('returns nothing after a cursor that is later than the requested time', async () => {
      const last = (await firstRows(1)).at(-1);
      if (last === undefined) throw new Error('the queue has no row');
      const { rows: behind } = await holds.dueBefore(T0 - 1, { limit: 100, cursor: last.cursor });
      expect(behind).toEqual([]);
    });

    test('returns postponed rows in the order of their new times, after all other rows, and creates no row if a closed row is postponed', async () => {
      const [marked, waiting, closed, ...left] = own;
      if (marked === undefined || waiting === undefined || closed === undefined) throw new Error('too few holds');
      const until = { dueAtMs: T0 + 300_000, undecidable: true };
      const earlier = { dueAtMs: T0 + 200_000, undecidable: false };
      await holds.postpone(marked, { ...until, dueAtMs: T0 + 250_000 });
      await holds.postpone({ ...marked, dueAtMs: T0 + 250_000 }, until);
      await holds.postpone(waiting, earlier);
      await holds.close(closed);
      await holds.postpone(closed, until);
      const postponed = [
        { ...waiting, ...earlier },
        { ...marked, ...until },
      ];
      for (const limit of [1, 2, 100])
        expect(await listed(T0 + 100_000, { limit, postponedBeforeMs: T0 + 300_001 })).toEqual([...left, ...postponed]);
      expect(await listed(T0, { limit: 1, postponedBeforeMs: T0 + 300_000 })).toEqual(postponed.slice(0, 1));
      expect(await listed(T0 + 100_000, { limit: 100 })).toEqual(left);
      for (const row of postponed) await holds.close(row);
      expect(await listed(T0, { limit: 100, postponedBeforeMs: T0 + 400_000 })).toEqual([]);
    });

    test('removes only closed rows', async () => {
      const [closed, ...left] = own;
      if (closed === undefined) throw new Error('the queue has no hold');
      await holds.close(closed);
      await holds.close(closed);
      expect(await before(T0 + 100_000, 100)).toEqual(left);
    });
  });
}
