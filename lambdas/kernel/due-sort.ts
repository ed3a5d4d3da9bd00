/**
 * Number of partitions of the commission queue. An entry costs three write units in total, and a partition accepts
 * 1,000 write units per second.
 */
export const DUE_SHARDS = 8;

/** Milliseconds since 1970 have 13 digits until the year 2286. */
const TIME_DIGITS = 13;

/** The text sorts in time order. */
export function dueSort(timeMs: number, name: string): string {
  return `${String(timeMs).padStart(TIME_DIGITS, '0')}#${name}`;
}

/** Postponed rows sort before all others of their partition, so that lists for operators begin with them. */
export function postponedSort(dueAtMs: number, name: string): string {
  return `#${dueSort(dueAtMs, name)}`;
}
