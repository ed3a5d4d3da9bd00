import { beforeEach, describe, expect, test } from '@jest/globals';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { mismatchPlace, openMismatchOf, STEADY_FOR_MS } from '../../lambdas/reconciliation/domain/mismatch-view.ts';
import { countMismatches, listMismatches, recordComparison } from '../../lambdas/reconciliation/use/mismatch-view.ts';
import { MemoryViews } from '../views/memory-views.ts';
import { comparedPayment, differsBy } from './mismatch-fixtures.ts';

const NOW = Date.UTC(2026, 2, 2);

let views: MemoryViews;

beforeEach(() => {
  views = new MemoryViews();
});

const keep = (atMs: number, mismatch = differsBy(1700), about = comparedPayment('k'), store = views) =>
  recordComparison({ views: store, digest: systemDigest }, about, mismatch, atMs);
const agree = (atMs: number) =>
  recordComparison({ views, digest: systemDigest }, comparedPayment('k'), undefined, atMs);
const bodies = () => views.all().map((row) => openMismatchOf(row));

describe('the view of mismatches', () => {
  test('contains a mismatch in both its owner’s list and the list of all mismatches, or in neither', async () => {
    await keep(NOW);
    expect(views.all().map(({ partition }) => partition)).toEqual(['MISMATCH#ten_desk#test', 'MISMATCHES']);
    await keep(NOW + STEADY_FOR_MS);
    expect(bodies().map(({ status }) => status)).toEqual(['confirmed', 'confirmed']);
    await agree(NOW + STEADY_FOR_MS + 1);
    expect(views.all()).toEqual([]);
  });

  test('does not change if a comparison is recorded twice', async () => {
    await keep(NOW);
    const once = views.all();
    expect(await keep(NOW)).toBeUndefined();
    expect(views.all()).toEqual(once);
  });

  test('ignores a comparison that started before the stored comparison', async () => {
    await keep(NOW + 60_000);
    const newer = views.all();
    await keep(NOW, differsBy(1));
    await agree(NOW);
    expect(views.all()).toEqual(newer);
  });

  test('stores the later of two concurrent comparisons, and counts a difference only once if both comparisons found it', async () => {
    let rival: (() => Promise<unknown>) | undefined;
    /** Lets the rival write between the read and the write of the other comparison. */
    class Raced extends MemoryViews {
      override async exchange(changes: Parameters<MemoryViews['exchange']>[0]): Promise<boolean> {
        const act = rival;
        rival = undefined;
        await act?.();
        return super.exchange(changes);
      }
    }
    for (const [first, second] of [
      [0, 5],
      [5, 0],
    ] as const) {
      const raced = new Raced();
      rival = () => keep(NOW + second, differsBy(1700), comparedPayment('k'), raced);
      await keep(NOW + first, differsBy(1700), comparedPayment('k'), raced);
      const rows = raced.all().map((row) => openMismatchOf(row));
      expect(rows.map(({ lastSeenAtMs }) => lastSeenAtMs)).toEqual([NOW + 5, NOW + 5]);
      expect(await countMismatches({ views: raced })).toEqual({ confirmed: 0, suspected: 1 });
    }
  });

  test('confirms a mismatch only after the difference has stayed the same for ten minutes', async () => {
    await keep(NOW);
    await keep(NOW + STEADY_FOR_MS - 1);
    expect(bodies()[0]?.status).toBe('suspected');
    // Both sides change by the same amount, so the difference stays the same.
    expect((await keep(NOW + STEADY_FOR_MS, differsBy(2700, 2000)))?.change).toBe('confirmed');
  });

  test('keeps a mismatch suspected if its amount changes between two comparisons', async () => {
    await keep(NOW);
    await keep(NOW + STEADY_FOR_MS, differsBy(1800));
    expect(bodies()[0]?.status).toBe('suspected');
    await keep(NOW + 2 * STEADY_FOR_MS - 1, differsBy(1800));
    expect(bodies()[0]?.status).toBe('suspected');
    expect((await keep(NOW + 2 * STEADY_FOR_MS, differsBy(1800)))?.change).toBe('confirmed');
  });

  test('distinguishes mismatches by account, processor, mode, currency and payment', async () => {
    await keep(NOW);
    const books = { name: 'sandbox', mode: 'test', account: 'sandbox' } as const;
    await keep(NOW, differsBy(1), comparedPayment('k', { books: { ...books, account: 'other' } }));
    await keep(NOW, differsBy(1), comparedPayment('k', { books: { ...books, name: 'other' } }));
    await keep(NOW, differsBy(1), comparedPayment('k', { books: { ...books, mode: 'live' } }));
    await keep(NOW, differsBy(1), comparedPayment('k', { currency: 'USD' }));
    await keep(NOW, differsBy(1), comparedPayment('k-2'));
    expect(await countMismatches({ views })).toEqual({ confirmed: 0, suspected: 6 });
  });

  test('stores at most 20 charge ids, so that a row stays small', async () => {
    await keep(NOW, { ...differsBy(1), chargeIds: Array.from({ length: 500 }, (_, index) => `ch_${index}`) });
    expect(bodies()[0]?.mismatch.chargeIds).toHaveLength(20);
  });
});

describe('the list of mismatches', () => {
  test('pages through the mismatches of all owners and of charges without a payment, newest payment first', async () => {
    const { owner: _owner, ...nobodys } = comparedPayment('n', { subject: 'ch_9', createdAtMs: NOW - 3 });
    for (const [index, about] of [
      comparedPayment('a', { createdAtMs: NOW - 1 }),
      comparedPayment('b', { createdAtMs: NOW - 4 }),
      comparedPayment('c', { owner: { tenantId: tenantId('ten_other'), mode: 'test' } }),
      comparedPayment('d', { owner: { tenantId: tenantId('ten_desk'), mode: 'live' } }),
      nobodys,
    ].entries()) {
      await keep(NOW, differsBy(index), about);
    }

    const reported: number[][] = [];
    let after: string | undefined;
    for (let page = 0; page < 5; page += 1) {
      const listed = await listMismatches(views, { limit: 1, ...(after === undefined ? {} : { after }) });
      if (listed.kind !== 'found') throw new Error('the cursor was refused');
      reported.push(listed.open.map(({ mismatch }) => mismatch.processorMinor));
      after = listed.open.at(-1)?.id;
      expect(listed.hasMore).toBe(page < 4);
    }
    expect(new Set(reported.flat())).toEqual(new Set([0, 1, 2, 3, 4]));
    expect(reported.flat().filter((place) => [0, 1, 4].includes(place))).toEqual([0, 4, 1]);
  });

  test.each([
    '',
    'mis_',
    'pay_1',
    `mis_00_${'a'.repeat(26)}`,
    `mis_zzzzzzzzzzz_${'a'.repeat(26)}`,
    `mis_1#_${'a'.repeat(26)}`,
  ])('refuses a cursor that is not a mismatch id: %j', async (after) => {
    expect(mismatchPlace(after)).toBeUndefined();
    expect((await listMismatches(views, { limit: 1, after })).kind).toBe('unknown_cursor');
  });
});
