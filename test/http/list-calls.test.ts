/** Tests the guarantee "constant calls". */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { sliceOf } from '../support/slice.ts';
import { CONSTANT_CALLS, filteredPages, LISTS, pageOf } from './listed-pages.ts';
import { ListedWorld } from './listed-world.ts';

const ROWS = 1_200;
/** Maximum number of DynamoDB calls for a page of the default size. */
const MAX_CALLS = 60;
/** Maximum number of additional calls for each object on a larger page. */
const MAX_CALLS_PER_OBJECT = 4;

let world: ListedWorld;
beforeAll(async () => {
  world = await ListedWorld.with(ROWS);
});

describe.each(sliceOf(LISTS, 5))('a page of $path', (list) => {
  const { path, filters, limit } = list;
  test('costs at most 60 DynamoDB calls with every filter and every pair of filters', async () => {
    const tooMany: unknown[] = [];
    const tried = new Set<string>();
    for await (const { real, asked, calls, reply, isRefused } of filteredPages(world, list)) {
      if (!isRefused) expect([real, asked, reply.status]).toEqual([real, asked, 200]);
      if (!isRefused) for (const name of Object.keys(asked)) tried.add(name);
      if (calls > (CONSTANT_CALLS[path] ?? MAX_CALLS)) tooMany.push({ real, asked, calls });
    }
    expect(tooMany).toEqual([]);
    expect([...tried].sort()).toEqual(Object.keys(filters).sort());
  });

  if (limit === undefined) return;
  test('costs at most a few more calls for each additional object', async () => {
    const largest = ['1000', '100', '25'].find((size) => limit.safeParse(size).success) ?? '1';
    let mostShown = 0;
    for (const real of world.pathsOf(path)) {
      const { calls, shown } = await pageOf(world, real, { ...world.baseOf(path), limit: largest });
      expect(calls).toBeLessThanOrEqual(MAX_CALLS + MAX_CALLS_PER_OBJECT * shown);
      mostShown = Math.max(mostShown, shown);
    }
    // An empty list would prove nothing.
    expect(mostShown).toBeGreaterThanOrEqual(Number(largest));
  });
});
