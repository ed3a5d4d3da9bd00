import { hourPath, LINES_PREFIX } from './archive-object.ts';
import type { Bounds } from './judge-chain.ts';

const HOUR_MS = 60 * 60_000;
/**
 * An object is in the hour of its oldest row. Its newest row is at most as much younger as a batch was tried, and clocks of the writers
 * of rows differ from that of the Stream by less than an hour. Nothing else delays an object, so it is also written within this time.
 */
export const OLDER_BY_MS = 22 * HOUR_MS;

/** A text before the names of all objects that can hold rows of this time. */
export function beginOf({ fromMs }: Pick<Bounds, 'fromMs'>): string {
  return fromMs < OLDER_BY_MS ? LINES_PREFIX : `${LINES_PREFIX}${hourPath(fromMs - OLDER_BY_MS)}`;
}

/** Whether all rows of an object, and of those that come later, are younger. */
export function isAfter(name: string, { untilMs }: Pick<Bounds, 'untilMs'>): boolean {
  return Number.isFinite(untilMs) && name > `${LINES_PREFIX}${hourPath(untilMs + 2 * HOUR_MS)}`;
}
