import { type ArchiveLine, rowTimeOf } from './archive-line.ts';
import { hourPath, LATE_PREFIX, LINES_PREFIX } from './archive-object.ts';
import type { Bounds } from './judge-chain.ts';

const HOUR_MS = 60 * 60_000;
/**
 * Maximum time, in milliseconds, from the hour in an object's key (the hour of its oldest row) to its newest row.
 * Covers the retries of a batch, and a skew of less than an hour between the clocks of the writers and the Stream. A
 * row that reaches the Ledger more than an hour after its own time is only in a late object (see {@link isLateLine}).
 * Therefore, all other objects are also written within this time.
 */
export const OLDER_BY_MS = 22 * HOUR_MS;

/**
 * Returns whether a row was written to the Ledger more than an hour after its own time. The archiver writes such a row
 * to a late object, because a reader of a time range reads all other objects only up to two hours after the end of the
 * range. With PostgreSQL as the authority, a row can reach the Ledger hours late if DynamoDB was unavailable, and days
 * late if the copying of its chain was stopped.
 */
export function isLateLine(line: ArchiveLine): boolean {
  return line.atMs - (rowTimeOf(line) ?? line.atMs) > HOUR_MS;
}

/** Returns a text that sorts before the keys of all objects that can contain rows from this time range. */
export function beginOf({ fromMs }: Pick<Bounds, 'fromMs'>): string {
  return fromMs < OLDER_BY_MS ? LINES_PREFIX : `${LINES_PREFIX}${hourPath(fromMs - OLDER_BY_MS)}`;
}

/**
 * A late object can contain rows from the range, unless the hour in its key is more than {@link OLDER_BY_MS} before the
 * range.
 */
export function isOfTime(name: string, bounds: Bounds): boolean {
  if (name >= LATE_PREFIX) return name > lateBegin(bounds);
  const { untilMs } = bounds;
  const isAfter = Number.isFinite(untilMs) && name > `${LINES_PREFIX}${hourPath(untilMs + 2 * HOUR_MS)}`;
  return name > beginOf(bounds) && !isAfter;
}

/**
 * Returns the key after which the search for objects of this time range continues. After the last hour of the range,
 * only late objects remain.
 *
 * @returns undefined after the last page
 */
export function continueAfter(last: string | undefined, bounds: Bounds): string | undefined {
  return last === undefined || last >= LATE_PREFIX || isOfTime(last, bounds) ? last : lateBegin(bounds);
}

function lateBegin(bounds: Bounds): string {
  return `${LATE_PREFIX}${beginOf(bounds).slice(LINES_PREFIX.length)}`;
}
