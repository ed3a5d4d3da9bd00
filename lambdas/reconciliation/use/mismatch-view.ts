import type { JobMarks } from '../../jobs/use/job-marks.ts';
import { defined } from '../../kernel/defined.ts';
import type { Digest } from '../../kernel/digest.ts';
import { rounds } from '../../once/use/rounds.ts';
import { timeOf } from '../../payments/use/transition-reader.ts';
import { ALL_MISMATCHES, FIRST_SORT_KEY, LAST_SORT_KEY } from '../../views/domain/lists.ts';
import { type ListPage, listPage } from '../../views/use/list-page.ts';
import { mergedRows } from '../../views/use/merged-rows.ts';
import type { ViewStore } from '../../views/use/view-store.ts';
import type { Mismatch } from '../domain/compare-books.ts';
import {
  type ComparisonSubject,
  type MismatchChange,
  type MismatchCounts,
  mismatchKey,
  mismatchPlace,
  mismatchRows,
  type OpenMismatch,
  openMismatchOf,
  updatedMismatch,
} from '../domain/mismatch-view.ts';

export interface MismatchViewTools {
  readonly views: ViewStore;
  readonly digest: Pick<Digest, 'sha256'>;
}

/**
 * Stores the result of a comparison in the view. Repeated or concurrent calls have a single effect: the row is replaced
 * only if it has not changed since it was read, and a comparison that started before the stored one is ignored.
 *
 *   hourly   compare (differ) ───────────────────────── put ✗ the row is from a later comparison
 *   nightly         compare (differ) ── put
 *
 * @param mismatch undefined when processor and Ledger agree
 * @param nowMs start of the comparison, in Unix milliseconds
 * @returns how the status changed, if it changed
 * @throws RetryableError when rivals wrote first in every round
 */
export async function recordComparison(
  { views, digest }: MismatchViewTools,
  about: ComparisonSubject,
  mismatch: Mismatch | undefined,
  nowMs: number,
): Promise<{ readonly change: MismatchChange; readonly open: OpenMismatch } | undefined> {
  const key = mismatchKey(digest, about);
  return rounds<{ readonly change: MismatchChange; readonly open: OpenMismatch } | undefined>(
    'this mismatch',
    async () => {
      const row = await views.read(key);
      const found = row === undefined ? undefined : openMismatchOf(row);
      if (mismatch === undefined) {
        if (row === undefined || found === undefined || nowMs < found.lastSeenAtMs) return undefined;
        const [, copy] = mismatchRows(found);
        return (await views.exchange([{ key, from: row }, { key: copy }])) ? { change: 'gone', open: found } : 'again';
      }
      const open = updatedMismatch(digest, found, about, mismatch, nowMs);
      if (open === found) return undefined;
      const [own, copy] = mismatchRows(open);
      const kept = await views.exchange([
        { key, from: row ?? null, to: own },
        { key: copy, to: copy },
      ]);
      if (!kept) return 'again';
      return open.status === found?.status ? undefined : { change: open.status, open };
    },
  );
}

/**
 * Reads a page of the mismatches of all owners, oldest payment first.
 * @param after the `place` of the last mismatch of the previous page
 */
export async function someMismatches(
  { views }: { readonly views: Pick<ViewStore, 'range'> },
  after: string | undefined,
  limit: number,
): Promise<readonly { readonly place: string; readonly open: OpenMismatch }[]> {
  const rows = await views.range({
    partition: ALL_MISMATCHES,
    // A trailing space gives the next possible sort key.
    from: after === undefined ? FIRST_SORT_KEY : `${after} `,
    until: LAST_SORT_KEY,
    limit,
    consistent: true,
  });
  return rows.map((row) => ({ place: row.sort, open: openMismatchOf(row) }));
}

const COUNTED_AT_ONCE = 500;
/** Limits the count to a hundred thousand; the exact number above that is irrelevant. */
const MAX_COUNTINGS = 200;

export async function countMismatches(tools: Pick<MismatchViewTools, 'views'>): Promise<MismatchCounts> {
  const counts = { confirmed: 0, suspected: 0 };
  let after: string | undefined;
  for (let page = 0; page < MAX_COUNTINGS; page += 1) {
    const found = await someMismatches(tools, after, COUNTED_AT_ONCE);
    for (const { open } of found) counts[open.status] += 1;
    if (found.length < COUNTED_AT_ONCE) break;
    after = found.at(-1)?.place;
  }
  return counts;
}

export type ListedMismatches =
  | { readonly kind: 'unknown_cursor'; readonly param: 'starting_after' }
  | { readonly kind: 'found'; readonly open: readonly OpenMismatch[]; readonly hasMore: boolean };

export async function readMismatch(views: Pick<ViewStore, 'range'>, id: string): Promise<OpenMismatch | undefined> {
  const place = mismatchPlace(id);
  if (place === undefined) return undefined;
  // A trailing space gives the next possible sort key.
  const [row] = await mergedRows(views, { partitions: [ALL_MISMATCHES], from: place, until: `${place} `, limit: 1 });
  return row === undefined ? undefined : openMismatchOf(row);
}

/**
 * Lists the mismatches of all owners, including charges without a known payment; newest first.
 *
 * @param page a range of creation times of the payment or the charge; `after` is an id from the request, not validated
 */
export async function listMismatches(
  views: Pick<ViewStore, 'range'>,
  { after, ...range }: Pick<ListPage, 'after' | 'limit' | 'createdFrom' | 'createdTo'>,
): Promise<ListedMismatches> {
  const place = after === undefined ? undefined : mismatchPlace(after);
  if (after !== undefined && place === undefined) return { kind: 'unknown_cursor', param: 'starting_after' };
  const page = { ...range, ...defined({ after: place }) };
  const { rows, hasMore } = await listPage(views, { partitions: [ALL_MISMATCHES] }, page);
  return { kind: 'found', open: rows.map(openMismatchOf), hasMore };
}

/** The id of the hourly job, under which its progress mark is stored. The id must never change. */
export const RECENT_JOB_ID = 'reconcile-recent';

/** Returns the time before which the hourly job has compared everything, in Unix milliseconds. */
export async function comparedUntilMs(marks: Pick<JobMarks, 'readMark'>): Promise<number | undefined> {
  const mark = await marks.readMark(RECENT_JOB_ID);
  return mark === undefined ? undefined : timeOf(mark);
}
