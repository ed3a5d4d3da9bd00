import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from '@jest/globals';
import { whole } from '../support/slice.ts';
import { listCost, reconcileDurations, reconcileTable } from './bench-reconcile.ts';

const PAGE = resolve(import.meta.dirname, '..', '..', 'docs', 'proof', 'benchmarks.md');

whole(test, { slice: test.skip })(
  "ten million payments a month are compared within half of each comparison's interval",
  async () => {
    const runs = await reconcileDurations();
    expect(runs.filter(({ minutes, halfMinutes }) => minutes > halfMinutes)).toEqual([]);
    expect(runs.map(({ payments, calls }) => Math.floor(payments / calls))).toEqual([69, 72]);
    expect(readFileSync(PAGE, 'utf8')).toContain(await reconcileTable());
  },
);

whole(test, { slice: test.skip })(
  'comparing an hour costs one list of charges if there are no payments, and otherwise work in proportion to the payments',
  async () => {
    expect(await listCost(0, 1)).toEqual({ payments: 0, pages: 1, calls: 1, queries: 8 });
    expect(await listCost(30_000, 1)).toEqual({ payments: 42, pages: 1, calls: 1, queries: 8 });
    const many = await listCost(3_000_000, 1);
    const tenTimes = await listCost(30_000_000, 1);
    for (const cost of ['pages', 'calls', 'queries'] as const)
      expect(tenTimes[cost]).toBeLessThanOrEqual(2 * 10 * many[cost]);
  },
);
