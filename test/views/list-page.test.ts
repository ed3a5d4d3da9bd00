import { describe, expect, test } from '@jest/globals';
import { createdSortKey } from '../../lambdas/kernel/places.ts';
import { idOf } from '../../lambdas/views/domain/lists.ts';
import type { ViewRow } from '../../lambdas/views/domain/views.ts';
import { type Listed, MAX_EXAMINED, type Shown, shownPage } from '../../lambdas/views/use/list-page.ts';
import { fc } from '../support/properties.ts';
import { MemoryViews } from './memory-views.ts';

const LIST = { partitions: ['TEST#0', 'TEST#1'] };
const idAt = (index: number) => `id_${String(index).padStart(5, '0')}`;
const placeOfId = (id: string) => createdSortKey(Number(id.slice(3)), id);

/** @param bodies bodies of the rows, oldest first */
async function listOf(bodies: readonly string[]): Promise<MemoryViews> {
  const views = new MemoryViews();
  await views.put(
    bodies.map((body, index) => ({
      partition: `TEST#${index % 2}`,
      sort: placeOfId(idAt(index)),
      sequence: 0,
      body,
    })),
  );
  return views;
}

const isWanted = (row: ViewRow) => row.body === 'wanted';
const shownIfWanted = async (row: ViewRow) => (isWanted(row) ? row : undefined);
const onlyItsObjectShows = () => undefined;
const findSortKey = async (id: string) => placeOfId(id);

async function walked(
  views: MemoryViews,
  limit: number,
  { upwards = false, matches = isWanted, show = shownIfWanted }: Partial<Shown> & { readonly upwards?: boolean } = {},
) {
  const pages: Listed[] = [];
  let cursor: string | undefined = upwards ? placeOfId(idAt(0)).replace(/#.*/, '') : undefined;
  for (let count = 0; count < 1_000; count += 1) {
    const from = cursor === undefined ? {} : upwards ? { before: cursor } : { after: cursor };
    const page = await shownPage(views, LIST, { limit, ...from }, { matches, show, findSortKey });
    pages.push(page);
    if (!page.hasMore) break;
    cursor = placeOfId(page.next ?? '');
  }
  const ids = (upwards ? pages.toReversed() : pages).flatMap(({ rows }) => rows.map(({ sort }) => idOf(sort)));
  return { pages, ids };
}

describe('a page of a filtered list', () => {
  test('is full unless it is the last page, and all pages together contain each match once, in both directions', async () => {
    const lists = fc.record({
      bodies: fc.array(fc.constantFrom('wanted', 'other'), { maxLength: 80 }),
      limit: fc.integer({ min: 1, max: 7 }),
      upwards: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(lists, async ({ bodies, limit, upwards }) => {
        const expected = bodies.flatMap((body, index) => (body === 'wanted' ? [idAt(index)] : [])).toReversed();
        const { pages, ids } = await walked(await listOf(bodies), limit, { upwards });
        expect(ids).toEqual(expected);
        for (const { rows, hasMore } of pages) expect(hasMore ? rows.length : limit).toBe(limit);
        expect(pages).toHaveLength(Math.max(1, Math.ceil(expected.length / limit)));
      }),
      { numRuns: 200 },
    );
  });

  test.each([
    ['no longer match', () => true],
    ['cannot be judged without their objects', onlyItsObjectShows],
  ])(
    'loads at most two objects more than its limit if rows %s, and all pages together contain each match',
    async (_, matches) => {
      const lists = fc.array(fc.constantFrom('wanted', 'gone'), { maxLength: 60 });
      await fc.assert(
        fc.asyncProperty(lists, fc.integer({ min: 1, max: 5 }), fc.boolean(), async (bodies, limit, upwards) => {
          let loads = 0;
          const show = async (row: ViewRow) => {
            loads += 1;
            return shownIfWanted(row);
          };
          const expected = bodies.flatMap((body, index) => (body === 'wanted' ? [idAt(index)] : [])).toReversed();
          const { pages, ids } = await walked(await listOf(bodies), limit, { upwards, matches, show });
          expect(ids).toEqual(expected);
          expect(loads).toBeLessThanOrEqual(pages.length * (limit + 2));
        }),
        { numRuns: 100 },
      );
    },
  );

  test('examines a limited number of rows, and the next page continues after them', async () => {
    const bodies = Array.from({ length: 2 * MAX_EXAMINED + 500 }, (_, index) => (index === 7 ? 'wanted' : 'other'));
    const views = await listOf(bodies);
    let read = 0;
    const range = views.range.bind(views);
    views.range = async (asked) => {
      const rows = await range(asked);
      read += rows.length;
      return rows;
    };
    const first = await shownPage(views, LIST, { limit: 10 }, { matches: isWanted, show: shownIfWanted, findSortKey });
    expect(first).toEqual({ rows: [], hasMore: true, next: idAt(bodies.length - MAX_EXAMINED) });
    expect(read).toBeLessThan(2 * MAX_EXAMINED);

    const { pages, ids } = await walked(views, 10);
    expect(ids).toEqual([idAt(7)]);
    expect(pages.map(({ rows, hasMore }) => [rows.length, hasMore])).toEqual([
      [0, true],
      [0, true],
      [1, false],
    ]);
  });
});
