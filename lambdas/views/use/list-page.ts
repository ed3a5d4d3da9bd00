import { FIRST_PLACE, LAST_PLACE, placeOf, type ViewList } from '../domain/lists.ts';
import type { ViewRow } from '../domain/views.ts';
import { mergedRows } from './merged-rows.ts';
import type { ViewStore } from './view-store.ts';

/** A page of a list that is shown newest first. */
export interface ListPage {
  /** Sort key; the page begins after it, with older rows. */
  readonly after?: string;
  /** Sort key; the page ends immediately before it, with newer rows. */
  readonly before?: string;
  /** Unix seconds, inclusive. */
  readonly createdFrom?: number;
  /** Unix seconds, exclusive. */
  readonly createdTo?: number;
  readonly limit: number;
}

export interface Listed {
  readonly rows: readonly ViewRow[];
  /** Whether there are more rows in the requested direction. */
  readonly hasMore: boolean;
}

/** Reads about twice the rows of the page, with one or more queries per partition, whatever the length of the list. */
export async function listPage(
  views: Pick<ViewStore, 'range'>,
  list: ViewList,
  { after, before, createdFrom, createdTo, limit }: ListPage,
): Promise<Listed> {
  const begin = createdFrom === undefined ? FIRST_PLACE : placeOf(createdFrom * 1000);
  const end = createdTo === undefined ? LAST_PLACE : placeOf(createdTo * 1000);
  // A trailing space gives the next possible sort key.
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
