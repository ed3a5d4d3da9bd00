/** Tests the guarantee "constant calls". */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { sliceOf } from '../support/slice.ts';
import { CONSTANT_CALLS, filteredPages, LISTS, pageOf } from './listed-pages.ts';
import { ListedWorld } from './listed-world.ts';

const ROWS = 1_200;
/** For a page of the default size. */
const MAX_CALLS = 60;
/**
 * Has no common factor with the numbers of sample values, so that the combinations in a slice have different values.
 */
const SLICES = 11;
/**
 * A page of these lists may read more items if the data grows: it counts the entries of a queue up to a limit, sums the
 * entries of days that are not closed, or reads the chain and the notes of one payment.
 */
const READS_ALL =
  /^\/v1\/(?:admin\/(?:attention|queues)|balances|reports\/volume|corrections|decisions|annotations|(?:admin\/)?payments\/\{id\}\/.*)$/;
/** The tolerance, in calls or items, is needed because page boundaries vary. */
const [MAX_GROWTH, TOLERANCE] = [1.2, 2];
/** Applies in addition to `MAX_CALLS`, on the largest page. */
const MAX_CALLS_PER_OBJECT = 4;

const someOf = <Query>(combinations: readonly Query[]): readonly Query[] => sliceOf(combinations, SLICES);

const LENGTHS = [10, 100, ROWS] as const;

/** The last world has the longest lists. */
const worlds: ListedWorld[] = [];
let world: ListedWorld;
beforeAll(async () => {
  for (const length of LENGTHS) worlds.push(await ListedWorld.with(length));
  world = worlds.at(-1) as ListedWorld;
});

describe.each(sliceOf(LISTS, 5))('a page of $path', (list) => {
  const { path, filters, limit } = list;
  test('costs at most 60 DynamoDB calls (72 for the list of queues) with every filter and every pair and triple of filters', async () => {
    const tooMany: unknown[] = [];
    const tried = new Set<string>();
    for await (const { real, asked, calls, reply, isRefused } of filteredPages(world, list, someOf)) {
      if (!isRefused) expect([real, asked, reply.status]).toEqual([real, asked, 200]);
      if (!isRefused) for (const name of Object.keys(asked)) tried.add(name);
      if (calls > (CONSTANT_CALLS[path] ?? MAX_CALLS)) tooMany.push({ real, asked, calls });
    }
    expect(tooMany).toEqual([]);
    expect([...tried].sort()).toEqual(Object.keys(filters).sort());
  });

  test('costs about as many calls if the list is longer and, unless its path matches READS_ALL, reads about as many items', async () => {
    const page = limit === undefined ? {} : { limit: '10' };
    for (const at of world.pathsOf(path).keys()) {
      const costs = await Promise.all(
        worlds.map((each) => pageOf(each, each.pathsOf(path)[at] ?? '', { ...each.baseOf(path), ...page })),
      );
      expect(costs.map(({ reply }) => reply.status)).toEqual(LENGTHS.map(() => 200));
      const long = costs.pop();
      const most = (of: 'calls' | 'read') => MAX_GROWTH * Math.max(...costs.map((each) => each[of])) + TOLERANCE;
      expect(long?.calls).toBeLessThanOrEqual(most('calls'));
      if (!READS_ALL.test(path)) expect(long?.read).toBeLessThanOrEqual(most('read'));
    }
  });

  if (limit === undefined) return;
  test('costs at most 60 calls, plus four calls for each object, if it has the maximum size', async () => {
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
