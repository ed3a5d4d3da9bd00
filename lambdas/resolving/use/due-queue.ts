import { defined } from '../../kernel/defined.ts';
import type { Postponement } from '../../payments/use/unfinished-work.ts';

/** First characters of the cursors of postponed rows. They sort after all digits. */
const POSTPONED = 'postponed ';

export interface DuePage<Row> {
  readonly rows: readonly {
    readonly row: Row;
    /** The cursor for a page that begins after this row. */
    readonly cursor: string;
  }[];
  /** The cursor of the next page; absent on the last page. Even a page without rows can have a next page. */
  readonly next?: string;
}

export interface DueRange {
  readonly limit: number;
  readonly cursor?: string;
  /**
   * Also lists, after all other rows, the postponed rows that are due before this time. Unix milliseconds.
   * @default postponed rows are not listed
   */
  readonly postponedBeforeMs?: number;
}

/** A queue of rows sorted by due time. Each row is written in the transaction that causes the work. */
export interface DueQueue<Row> {
  /** Lists the rows that were due before `beforeMs`, oldest first, with strong consistency. */
  dueBefore(beforeMs: number, range: DueRange): Promise<DuePage<Row>>;
  /**
   * Sets a new due time, and whether the row waits for an operator. The new due time must be later than the `beforeMs`
   * and the `postponedBeforeMs` of the listing. Has no effect on a row that does not exist.
   */
  postpone(row: Row, next: Postponement): Promise<void>;
  /** Has no effect if the row does not exist. */
  close(row: Row): Promise<void>;
}

/**
 * Merges the pages that several partitions or databases have returned for the same cursor. All cursors sort like the
 * rows.
 */
export function mergedPage<Row>(pages: readonly DuePage<Row>[], limit: number): DuePage<Row> {
  // Leave out the rows after the earliest `next`, because the partition with this `next` may have unread rows before
  // them.
  const [end] = pages.flatMap(({ next }) => next ?? []).toSorted(byText);
  const read = pages
    .flatMap(({ rows }) => rows)
    .filter(({ cursor }) => end === undefined || cursor <= end)
    .toSorted((left, right) => byText(left.cursor, right.cursor));
  const rows = read.slice(0, limit);
  return { rows, ...defined({ next: rows.length < read.length ? rows.at(-1)?.cursor : end }) };
}

function byText(left: string, right: string): number {
  return left < right ? -1 : 1;
}

/**
 * @param list lists only postponed rows, or only other rows, that follow the cursor `after` ('' for the first page).
 * The cursors sort by time.
 */
export async function listBoth<Row>(
  { limit, cursor = '', postponedBeforeMs }: DueRange,
  list: (isPostponed: boolean, part: { readonly after: string; readonly limit: number }) => Promise<DuePage<Row>>,
): Promise<DuePage<Row>> {
  const isBehind = cursor.startsWith(POSTPONED);
  const { rows, next }: DuePage<Row> = isBehind ? { rows: [] } : await list(false, { after: cursor, limit });
  if (postponedBeforeMs === undefined || next !== undefined) return { rows, ...defined({ next }) };
  if (rows.length === limit) return { rows, next: POSTPONED };
  const after = isBehind ? cursor.slice(POSTPONED.length) : '';
  const postponed = await list(true, { after, limit: limit - rows.length });
  return {
    rows: [...rows, ...postponed.rows.map(({ row, cursor: at }) => ({ row, cursor: `${POSTPONED}${at}` }))],
    ...(postponed.next === undefined ? {} : { next: `${POSTPONED}${postponed.next}` }),
  };
}
