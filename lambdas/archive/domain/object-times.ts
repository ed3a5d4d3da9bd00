import { hourPath, LATE_PREFIX, LINES_PREFIX } from './archive-object.ts';
import type { Bounds } from './judge-chain.ts';

const HOUR_MS = 60 * 60_000;
/**
 * Maximum time between the hour of an object, which is the hour of its oldest row, and its newest row: the retries of a
 * batch, plus less than an hour between the clocks of writers and of the Stream. No other delay exists, so the object
 * is also written within this time. Does not apply to late objects. Milliseconds.
 */
export const OLDER_BY_MS = 22 * HOUR_MS;

/** A text that sorts before the names of all objects that can hold rows of this time. */
export function beginOf({ fromMs }: Pick<Bounds, 'fromMs'>): string {
  return fromMs < OLDER_BY_MS ? LINES_PREFIX : `${LINES_PREFIX}${hourPath(fromMs - OLDER_BY_MS)}`;
}

/** Whether the object can hold rows of this time. A late object can, unless it was written before them. */
export function isOfTime(name: string, bounds: Bounds): boolean {
  if (name >= LATE_PREFIX) return name > lateBegin(bounds);
  const { untilMs } = bounds;
  const isAfter = Number.isFinite(untilMs) && name > `${LINES_PREFIX}${hourPath(untilMs + 2 * HOUR_MS)}`;
  return name > beginOf(bounds) && !isAfter;
}

/**
 * The text after which a walk through the objects of this time continues. After the hours of the time, only late
 * objects remain.
 *
 * @param last of a page @returns undefined for a page that is the last
 */
export function continueAfter(last: string | undefined, bounds: Bounds): string | undefined {
  return last === undefined || last >= LATE_PREFIX || isOfTime(last, bounds) ? last : lateBegin(bounds);
}

function lateBegin(bounds: Bounds): string {
  return `${LATE_PREFIX}${beginOf(bounds).slice(LINES_PREFIX.length)}`;
}
