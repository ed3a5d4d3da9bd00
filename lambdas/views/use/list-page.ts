import { defined } from '../../kernel/defined.ts';
import { timeSortKey } from '../../kernel/places.ts';
import { FIRST_SORT_KEY, idOf, LAST_SORT_KEY, type ViewList } from '../domain/lists.ts';
import type { ViewRow } from '../domain/views.ts';
import { mergedRows } from './merged-rows.ts';
import type { ViewStore } from './view-store.ts';

export interface ListPage {
  /** Sort key after which the page begins: the page contains the rows directly after it, which are older. */
  readonly after?: string;
  /** Sort key before which the page ends: the page contains the rows directly before it, which are newer. */
  readonly before?: string;
  /** Inclusive, in Unix seconds. */
  readonly createdFrom?: number;
  /** Exclusive, in Unix seconds. */
  readonly createdTo?: number;
  readonly limit: number;
}

export interface Listed {
  readonly rows: readonly ViewRow[];
  /** Whether there are more rows in the requested direction. */
  readonly hasMore: boolean;
  /** The id from which the next page continues. Absent on the last page. */
  readonly next?: string;
}

/** Filters the rows of a list, and loads their objects. */
export interface Shown {
  /**
   * Returns whether a row of the list matches the filters; undefined if only the loaded object can decide this.
   * @default every row matches
   */
  readonly matches?: (row: ViewRow) => boolean | undefined;
  /** @returns the row with the API object as its body; undefined when the object does not exist or does not match */
  readonly show: (row: ViewRow) => Promise<ViewRow | undefined>;
  readonly findSortKey: FindSortKey;
}

/** @returns undefined when the caller has no such object */
type FindSortKey = (id: string) => Promise<string | undefined>;

/** Maximum number of rows that one request examines. Limits the cost of a filter that matches few rows. */
export const MAX_EXAMINED = 1_000;
/** Maximum number of rows in each read after the first one. */
const CHUNK = 250;
/** Number of reads that suffice to examine {@link MAX_EXAMINED} rows. */
const MAX_READS = 5;
/**
 * Maximum number of extra objects that a page loads to replace objects that do not match. Each extra object costs up to
 * four calls, and a page with the default limit costs at most 60 calls (test/http/list-calls.test.ts).
 */
const MAX_EXTRA_OBJECTS = 2;

/**
 * Returns a page of objects. Rows that do not match are skipped. The page ends when:
 *
 * - it is full, or the list has ended;
 * - {@link MAX_EXAMINED} rows were examined, or the maximum number of reads was made; or
 * - {@link MAX_EXTRA_OBJECTS} of the loaded objects did not match.
 *
 * Only in the last two cases can a page be short or empty although more rows follow. `next` is then the last examined
 * row. If that row's object no longer exists, the row cannot serve as a cursor, so reading continues.
 */
export async function shownPage(
  views: Pick<ViewStore, 'range' | 'queriesPerRange'>,
  list: ViewList,
  page: ListPage,
  { matches, show, findSortKey }: Shown,
): Promise<Listed> {
  const upwards = page.before !== undefined;
  const rows: ViewRow[] = [];
  /** The row of the last object. */
  let end: ViewRow | undefined;
  /** The row that was examined last. */
  let at: ViewRow | undefined;
  let loads = page.limit + MAX_EXTRA_OBJECTS;
  const load = (row: ViewRow): Promise<ViewRow | undefined> => {
    loads -= 1;
    return show(row);
  };
  const listed = (next?: ViewRow): Listed => ({
    rows: upwards ? rows.toReversed() : rows,
    hasMore: next !== undefined,
    ...(next === undefined ? {} : { next: idOf(next.sort) }),
  });
  const reads = readsOf(views);
  for (let examined = 0, read = 0; examined < MAX_EXAMINED; read += 1) {
    // Only a row whose object exists can be a cursor.
    if (read >= reads && (at === undefined || (await findSortKey(idOf(at.sort))) !== undefined)) break;
    // With a filter, one extra row is read. If all rows match, the extra row shows whether more rows follow.
    const wanted = page.limit + (matches === undefined ? 0 : 1);
    const first = matches !== undefined && reads === 1 ? Math.max(CHUNK, wanted) : wanted;
    const limit = at === undefined ? first : Math.min(CHUNK, MAX_EXAMINED - examined);
    const chunk = await listPage(views, list, { ...page, ...(at === undefined ? {} : cursorAt(at, upwards)), limit });
    const checked = checkedRows(upwards ? chunk.rows.toReversed() : chunk.rows, matches, loads);
    const hasMore = chunk.hasMore || checked.length < chunk.rows.length;
    const examinedRows = await Promise.all(
      checked.map(async ({ row, isMatch }) => ({
        row,
        isMatch,
        object: isMatch === undefined ? await load(row) : undefined,
      })),
    );
    const kept = examinedRows.filter(({ isMatch, object }) => isMatch ?? object !== undefined);
    const taken = kept.slice(0, page.limit - rows.length);
    const objects = await Promise.all(
      taken.map(async ({ row, isMatch, object }) => ({
        row,
        object: isMatch === undefined ? object : await load(row),
      })),
    );
    for (const { row, object } of objects) {
      if (object === undefined) continue;
      rows.push(object);
      end = row;
    }
    const isFull = rows.length === page.limit;
    if (isFull && (kept.length > taken.length || (matches === undefined && hasMore))) return listed(end);
    examined += checked.length;
    at = (kept.length > taken.length ? taken.at(-1)?.row : checked.at(-1)?.row) ?? at;
    if (!hasMore && kept.length === taken.length) return listed();
    if (loads === 0) {
      if (at === undefined || (await findSortKey(idOf(at.sort))) !== undefined) break;
      loads = 1;
    }
  }
  return listed(at);
}

/**
 * The more queries one read costs, the fewer reads are made, so that the page does not cost more calls. If a read costs
 * several queries, a page can therefore be short or empty although more rows follow.
 */
function readsOf(views: Pick<ViewStore, 'queriesPerRange'>): number {
  const queries = views.queriesPerRange?.() ?? 1;
  return queries === 1 ? MAX_EXAMINED : Math.max(1, Math.floor(MAX_READS / queries));
}

interface CheckedRow {
  readonly row: ViewRow;
  /** Undefined if only the loaded object can decide this. */
  readonly isMatch: boolean | undefined;
}

/**
 * The caller loads an object for each row that matches or may match, so the result ends before such rows exceed
 * `loads`.
 */
function checkedRows(rows: readonly ViewRow[], matches: Shown['matches'], loads: number): readonly CheckedRow[] {
  const checked: CheckedRow[] = [];
  let candidates = 0;
  for (const row of rows) {
    const isMatch = matches === undefined || matches(row);
    if (isMatch !== false) candidates += 1;
    if (candidates > loads) break;
    checked.push({ row, isMatch });
  }
  return checked;
}

function cursorAt({ sort }: ViewRow, upwards: boolean): Pick<ListPage, 'after' | 'before'> {
  return upwards ? { before: sort } : { after: sort };
}

/**
 * Reads at most a few times as many rows as the page has, with one or more queries per partition, regardless of the
 * length of the list.
 */
export async function listPage(
  views: Pick<ViewStore, 'range'>,
  list: ViewList,
  { after, before, createdFrom, createdTo, limit }: ListPage,
): Promise<Listed> {
  const begin = createdFrom === undefined ? FIRST_SORT_KEY : timeSortKey(createdFrom * 1000);
  const end = createdTo === undefined ? LAST_SORT_KEY : timeSortKey(createdTo * 1000);
  // `before` followed by a space is the next possible sort key.
  const from = before === undefined ? begin : later(begin, `${before} `);
  const until = after === undefined ? end : earlier(end, after);
  if (from >= until) return { rows: [], hasMore: false };
  // The rows immediately before a cursor are read in ascending order.
  const upwards = before !== undefined;
  const found = await mergedRows(views, { ...list, from, until, descending: !upwards, limit: limit + 1 });
  const rows = found.slice(0, limit);
  return { rows: upwards ? rows.toReversed() : rows, hasMore: found.length > limit };
}

function later(left: string, right: string): string {
  return left > right ? left : right;
}

function earlier(left: string, right: string): string {
  return left < right ? left : right;
}

/**
 * A cursor that names no object, or another tenant's object, results in `unknown_cursor`, so that the response reveals
 * nothing about other tenants' objects.
 */
export type ListOutcome =
  | { readonly kind: 'unknown_cursor'; readonly param: 'starting_after' | 'ending_before' }
  | ({ readonly kind: 'found' } & Listed);

interface Cursors {
  readonly after: string | undefined;
  readonly before: string | undefined;
  readonly findSortKey: FindSortKey;
}

export async function listFrom(
  { after, before, findSortKey }: Cursors,
  list: (cursors: Pick<ListPage, 'after' | 'before'>) => Promise<Listed>,
): Promise<ListOutcome> {
  const behind = after === undefined ? undefined : await findSortKey(after);
  if (after !== undefined && behind === undefined) return { kind: 'unknown_cursor', param: 'starting_after' };
  const ahead = before === undefined ? undefined : await findSortKey(before);
  if (before !== undefined && ahead === undefined) return { kind: 'unknown_cursor', param: 'ending_before' };
  const listed = await list({
    ...defined({ after: behind, before: ahead }),
  });
  return { kind: 'found', ...listed };
}
