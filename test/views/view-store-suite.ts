import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ViewRow } from '../../lambdas/views/domain/views.ts';
import type { ScanPosition, ViewScan, ViewStore } from '../../lambdas/views/use/view-store.ts';
import { paymentIdFor } from '../payments/payment-fixtures.ts';

const MAX_STEPS = 100;

export function describeViewStore(name: string, make: () => Promise<ViewStore & ViewScan>): void {
  let made = 0;
  let store: ViewStore & ViewScan;
  let partition: string;

  beforeEach(async () => {
    store = await make();
    made += 1;
    partition = `TEST#${process.pid}#${made}`;
  });

  const row = (sort: string, changes: Partial<ViewRow> = {}): ViewRow => ({
    partition,
    sort,
    chainId: paymentIdFor('view'),
    sequence: 2,
    body: '{"b":1,"a":"é"}',
    ...changes,
  });
  const sorts = async (range: Partial<Parameters<ViewStore['range']>[0]> = {}) =>
    (await store.range({ partition, from: '0', until: ':', limit: 10, ...range })).map(({ sort }) => sort);

  describe(`${name}: a row`, () => {
    test('is read unchanged, and a second put replaces it', async () => {
      await store.put([row('1'), row('2', { body: 'two' })]);
      await store.put([row('1'), row('2', { sequence: 1, body: 'other' })]);

      expect(await store.read(row('1'))).toEqual(row('1'));
      expect(await store.read(row('2'))).toEqual(row('2', { sequence: 1, body: 'other' }));
      expect(await store.read(row('3'))).toBeUndefined();
    });

    test('is read together with others, in the order of the requested keys', async () => {
      await store.put([row('1'), row('2')]);

      expect(await store.readAll([row('2'), row('3'), row('1')])).toEqual([row('2'), undefined, row('1')]);
    });

    test('is read without a chain id if it was written without one', async () => {
      const { chainId: _, ...total } = row('1', { sequence: 0 });
      await store.put([total]);

      expect(await store.read(total)).toEqual(total);
    });

    test('is replaced only if it has not changed since it was read', async () => {
      const [old, next] = [row('1'), row('1', { sequence: 3, body: 'next' })];

      expect(await store.exchange([{ key: old, from: old, to: next }])).toBe(false);
      expect(await store.exchange([{ key: old, from: null, to: old }])).toBe(true);
      expect(await store.exchange([{ key: old, from: null, to: next }])).toBe(false);
      expect(await store.exchange([{ key: old, from: row('1', { sequence: 3 }), to: next }])).toBe(false);
      expect(await store.exchange([{ key: old, from: row('1', { body: 'other' }), to: next }])).toBe(false);
      expect(await store.exchange([{ key: old, from: old, to: next }])).toBe(true);
      expect(await store.read(old)).toEqual(next);
      expect(await store.exchange([{ key: old, from: old }])).toBe(false);
      expect(await store.exchange([{ key: old, from: next }])).toBe(true);
      expect(await store.read(old)).toBeUndefined();
    });

    test('is replaced atomically with changes of other rows: all are applied, or none', async () => {
      await store.put([row('1'), row('2')]);
      const changes = [
        { key: row('1'), from: row('1'), to: row('1', { body: 'new' }) },
        { key: row('2') },
        { key: row('3'), to: row('3') },
        { key: row('4') },
      ];

      expect(await store.exchange([{ key: row('5'), from: row('5'), to: row('5') }, ...changes])).toBe(false);
      expect(await sorts()).toEqual(['1', '2']);
      expect(await store.exchange(changes)).toBe(true);
      expect(await sorts()).toEqual(['1', '3']);
    });
  });

  describe(`${name}: a range`, () => {
    test('includes its start and excludes its end, in both directions', async () => {
      await store.put(['30', '10', '20', '40'].map((sort) => row(sort)));
      await store.put([row('25', { partition: `${partition}#other` })]);

      expect(await sorts()).toEqual(['10', '20', '30', '40']);
      expect(await sorts({ descending: true })).toEqual(['40', '30', '20', '10']);
      expect(await sorts({ from: '20', until: '40' })).toEqual(['20', '30']);
      expect(await sorts({ from: '20', until: '40', descending: true, limit: 1 })).toEqual(['30']);
      expect(await sorts({ from: '20 ', until: '40', consistent: true })).toEqual(['30']);
      expect(await sorts({ from: '11', until: '12' })).toEqual([]);
      expect(await sorts({ from: '20', until: '20' })).toEqual([]);
      expect(await sorts({ from: '40', until: '20' })).toEqual([]);
    });

    test('ends at its row limit or at its end, whichever is reached first', async () => {
      await store.put(['1', '2', '3'].map((sort) => row(sort)));

      expect(await sorts({ limit: 2 })).toEqual(['1', '2']);
      expect(await sorts({ limit: 3, until: '3' })).toEqual(['1', '2']);
      expect(await sorts({ limit: 2, until: '3' })).toEqual(['1', '2']);
    });
  });

  test(`${name}: a scan in three segments finds every row once`, async () => {
    const put = Array.from({ length: 20 }, (_, index) => row(`${index % 5}`, { partition: `${partition}#${index}` }));
    await store.put(put);
    const found: ViewRow[] = [];
    for (const segment of [0, 1, 2]) {
      let after: ScanPosition | undefined;
      for (let step = 0; step < MAX_STEPS; step += 1) {
        const page = await store.scan({ segment, segments: 3, ...(after === undefined ? {} : { after }) });
        found.push(...page.found.filter((each) => each.partition.startsWith(`${partition}#`)));
        after = page.next;
        if (after === undefined) break;
      }
    }

    const ordered = (rows: readonly ViewRow[]) => rows.map(({ partition: at, sort }) => `${at} ${sort}`).sort();
    expect(ordered(found)).toEqual(ordered(put));
  });
}
