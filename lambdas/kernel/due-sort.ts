/** Parts of a queue by time. Each takes five hundred transactions a second (a thousand write units, two for an item in a transaction). */
export const DUE_SHARDS = 8;

/** Milliseconds since 1970 have 13 digits until the year 2286. */
const TIME_DIGITS = 13;

/** The place of a row in a queue by time: text that sorts as the time does. */
export function dueSort(timeMs: number, name: string): string {
  return `${String(timeMs).padStart(TIME_DIGITS, '0')}#${name}`;
}
