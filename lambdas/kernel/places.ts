import { LIST_SHARDS } from './contract/shards.ts';
import { BASE32_ALPHABET } from './digest.ts';
import { invariant } from './invariant.ts';

/* The sort keys and shards of lists that are sorted by time. */

export function sharded(partitionOf: (shard: number) => string): readonly string[] {
  return Array.from({ length: LIST_SHARDS }, (_, shard) => partitionOf(shard));
}

/** Ids are derived from a hash, so their characters are evenly distributed. */
export function listShardOf(id: string): number {
  return BASE32_ALPHABET.indexOf(id.at(-1) ?? 'a') % LIST_SHARDS;
}

/**
 * Number of digits of a time in milliseconds, so that texts sort by time. Fifteen digits suffice until the year 33658.
 */
export const TIME_DIGITS = 15;

/** Entries from the same second are sorted by id. */
export function createdSortKey(createdSeconds: number, id: string): string {
  return timeSortKey(createdSeconds * 1000, id);
}

/** @param ms Unix milliseconds */
export function timeSortKey(ms: number, id?: string): string {
  invariant(Number.isSafeInteger(ms) && ms >= 0, `${ms} is not a time`);
  const time = String(ms).padStart(TIME_DIGITS, '0');
  return id === undefined ? time : `${time}#${id}`;
}
