import { FIRST_PLACE, LAST_PLACE, placeOf, type ViewRow } from '../domain/views.ts';
import { mergedRows } from './merged-rows.ts';
import type { ViewStore } from './view-store.ts';

/** A page of a list that is shown newest first. */
export interface ListPage {
  /** The page begins behind it, at what is older. */
  readonly after?: string;
  /** The page ends right before it, at what is newer. */
  readonly before?: string;
  /** Unix seconds, inclusive. */
  readonly createdFrom?: number;
  /** Unix seconds, exclusive. */
  readonly createdTo?: number;
  readonly limit: number;
}

export interface Listed {
  readonly rows: readonly ViewRow[];
  /** Whether there are more in the direction that was asked for. */
  readonly hasMore: boolean;
}

/** Costs about twice the rows of the page, and a query for each partition, however long the list is. */
export async function listPage(
  views: Pick<ViewStore, 'range'>,
  partitions: readonly string[],
  { after, before, createdFrom, createdTo, limit }: ListPage,
): Promise<Listed> {
  const begin = createdFrom === undefined ? FIRST_PLACE : placeOf(createdFrom * 1000);
  const end = createdTo === undefined ? LAST_PLACE : placeOf(createdTo * 1000);
  // Nothing lies between a place and the same with a space behind it.
  const from = before === undefined ? begin : later(begin, `${before} `);
  const until = after === undefined ? end : earlier(end, after);
  if (from >= until) return { rows: [], hasMore: false };
  // What is right before a row is found by going up from it.
  const upwards = before !== undefined;
  const found = await mergedRows(views, { partitions, from, until, descending: !upwards, limit: limit + 1 });
  const rows = found.slice(0, limit);
  return { rows: upwards ? rows.toReversed() : rows, hasMore: found.length > limit };
}

function later(left: string, right: string): string {
  return left > right ? left : right;
}

function earlier(left: string, right: string): string {
  return left < right ? left : right;
}
