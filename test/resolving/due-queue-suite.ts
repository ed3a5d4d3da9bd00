import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Hold } from '../../lambdas/payments/use/payment-store.ts';
import type { DueQueue } from '../../lambdas/resolving/use/due-queue.ts';
import { paymentIdFor } from '../payments/payment-fixtures.ts';

export interface HoldsUnderTest {
  readonly holds: DueQueue<Hold>;
  /** Records an effect that creates the hold. */
  readonly write: (hold: Hold) => Promise<void>;
}

const T0 = Date.UTC(2026, 2, 1, 12);
/** Maximum number of pages that a test reads, with one row per page. Exceeds the number of shards. */
const MAX_PAGES = 60;

/** Registers the contract tests of every DueQueue, using the queue of holds. */
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

  /** Lists the rows of this test, page by page. */
  async function before(beforeMs: number, limit: number): Promise<readonly Hold[]> {
    const found: Hold[] = [];
    let cursor: string | undefined;
    for (let pages = 0; pages < MAX_PAGES; pages += 1) {
      const page = await holds.dueBefore(beforeMs, { limit, ...(cursor === undefined ? {} : { cursor }) });
      expect(page.rows.length).toBeLessThanOrEqual(limit);
      found.push(...page.rows.map(({ row }) => row));
      if (page.next === undefined) break;
      cursor = page.next;
    }
    const ids = new Set(own.map(({ paymentId }) => paymentId));
    return found
      .filter(({ paymentId }) => ids.has(paymentId))
      .sort((left, right) => left.authorizedAtMs - right.authorizedAtMs);
  }

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

    test('returns a row that is marked as undecidable with its mark, and creates no row if a closed row is marked', async () => {
      const [marked, closed] = own;
      if (marked === undefined || closed === undefined) throw new Error('the queue has fewer than two holds');
      await holds.mark(marked, true);
      await holds.close(closed);
      await holds.mark(closed, true);
      const [first, second] = await before(T0 + 100_000, 100);
      expect(first).toEqual({ ...marked, undecidable: true });
      expect(second).toEqual(own[2]);
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
