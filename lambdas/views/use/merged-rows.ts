import { defined } from '../../kernel/defined.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { ViewList } from '../domain/lists.ts';
import type { ViewRow } from '../domain/views.ts';
import type { ViewRange, ViewStore } from './view-store.ts';

export type MergedRange = Omit<ViewRange, 'partition' | 'indexed'> & ViewList;

interface Source {
  readonly partition: string;
  rows: readonly ViewRow[];
  /** Whether the partition may have further rows. */
  more: boolean;
}

/**
 * Number of rows that a query reads beyond the partition's share of the page, so that an uneven distribution rarely
 * requires a second query.
 */
const SPARE_ROWS = 16;

/** Returns the rows of several partitions, merged in the order of their sort keys. */
export async function mergedRows(views: Pick<ViewStore, 'range'>, range: MergedRange): Promise<readonly ViewRow[]> {
  const { partitions, limit, descending = false } = range;
  const share = Math.min(limit, Math.ceil(limit / partitions.length) + SPARE_ROWS);
  const sources: Source[] = partitions.map((partition) => ({ partition, rows: [], more: true }));
  const merged: ViewRow[] = [];
  await Promise.all(sources.map((source) => refill(views, range, source, share)));
  while (merged.length < limit) {
    const first = sources.reduce<Source | undefined>((best, source) => {
      const [row] = source.rows;
      const [lead] = best?.rows ?? [];
      if (row === undefined) return best;
      return lead === undefined || (descending ? row.sort > lead.sort : row.sort < lead.sort) ? source : best;
    }, undefined);
    const [row] = first?.rows ?? [];
    if (first === undefined || row === undefined) break;
    merged.push(row);
    first.rows = first.rows.slice(1);
    if (first.rows.length === 0 && first.more) await refill(views, range, first, share, row);
  }
  return merged;
}

/** @param last the row after which the read continues */
async function refill(
  views: Pick<ViewStore, 'range'>,
  { indexed, from, until, descending = false, consistent = false }: MergedRange,
  source: Source,
  share: number,
  last?: ViewRow,
): Promise<void> {
  invariant(source.rows.length === 0, 'a partition is read again although some of its rows are unused');
  const { partition } = source;
  // The last key followed by a space, the lowest printable character, is the next possible sort key.
  const begin = last === undefined || descending ? from : `${last.sort} `;
  const end = last === undefined || !descending ? until : last.sort;
  const within = { partition, ...defined({ indexed }), from: begin, until: end };
  source.rows = await views.range({ ...within, descending, consistent, limit: share });
  source.more = source.rows.length === share;
}
