/** Parts of a queue by time. An entry costs three write units in its life; a part takes a thousand a second. */
export const DUE_SHARDS = 8;

/** Milliseconds since 1970 have 13 digits until the year 2286. */
const TIME_DIGITS = 13;

/** The place of a row in a queue by time: text that sorts as the time does. */
export function dueSort(timeMs: number, name: string): string {
  return `${String(timeMs).padStart(TIME_DIGITS, '0')}#${name}`;
}
