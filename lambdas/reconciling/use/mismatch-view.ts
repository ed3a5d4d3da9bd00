import type { Digest } from '../../kernel/digest.ts';
import { rounds } from '../../once/use/rounds.ts';
import {
  ALL_MISMATCHES,
  FIRST_PLACE,
  LAST_PLACE,
  mismatchPartition,
  type ViewOwner,
} from '../../views/domain/views.ts';
import { listPage } from '../../views/use/list-page.ts';
import type { ViewStore } from '../../views/use/view-store.ts';
import type { Mismatch } from '../domain/compare-books.ts';
import {
  type LookedAt,
  type MismatchChange,
  type MismatchCounts,
  mismatchKey,
  mismatchPlace,
  mismatchRows,
  type OpenMismatch,
  openMismatchOf,
  seenAgain,
} from '../domain/mismatch-view.ts';

export interface MismatchViewTools {
  readonly views: ViewStore;
  readonly digest: Pick<Digest, 'sha256'>;
}

/**
 * Puts what a look has found into the view. Doing it twice, at once or after one another, is doing it once: the row is
 * replaced only as it was read, and a look that began before the row's own is passed over.
 *
 *   hourly   look (apart) ─────────────────────────── put ✗ the row is of a later look
 *   nightly         look (apart) ── put
 *
 * @param mismatch undefined when the two agree
 * @param nowMs when the look began
 * @returns what is new by it, if anything
 * @throws RetryableError when rivals were always faster
 */
export async function keepLook(
  { views, digest }: MismatchViewTools,
  about: LookedAt,
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
      const open = seenAgain(digest, found, about, mismatch, nowMs);
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

/** Of all owners, oldest payment first. @param after the place of the last one that was had */
export async function someMismatches(
  { views }: Pick<MismatchViewTools, 'views'>,
  after: string | undefined,
  limit: number,
): Promise<readonly { readonly place: string; readonly open: OpenMismatch }[]> {
  const rows = await views.range({
    partition: ALL_MISMATCHES,
    // Nothing lies between a place and the same with a space behind it.
    from: after === undefined ? FIRST_PLACE : `${after} `,
    until: LAST_PLACE,
    limit,
    consistent: true,
  });
  return rows.map((row) => ({ place: row.sort, open: openMismatchOf(row) }));
}

const COUNTED_AT_ONCE = 500;
/** A hundred thousand: whoever has so many needs no exact number. */
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

/** An owner's own, and the charges that belong to no payment that is known; newest payment first. */
export async function listMismatches(
  views: Pick<ViewStore, 'range'>,
  owner: ViewOwner,
  { after, limit }: { readonly after?: string; readonly limit: number },
): Promise<ListedMismatches> {
  const place = after === undefined ? undefined : mismatchPlace(after);
  if (after !== undefined && place === undefined) return { kind: 'unknown_cursor', param: 'starting_after' };
  const page = { limit, ...(place === undefined ? {} : { after: place }) };
  const { rows, hasMore } = await listPage(views, [mismatchPartition(owner), mismatchPartition(undefined)], page);
  return { kind: 'found', open: rows.map(openMismatchOf), hasMore };
}
