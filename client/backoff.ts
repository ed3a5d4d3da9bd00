/** Upper limit of the first pause, in milliseconds. The limit doubles with each attempt. */
const FIRST_CEILING_MS = 500;
const HIGHEST_CEILING_MS = 8_000;

/**
 * Returns the pause in milliseconds before the next attempt: the pause that the API requested, and a random time up to
 * a limit. Thus, callers that failed at the same time do not retry at the same time.
 *
 * @param attempt from 0
 * @param fraction random, from 0 (inclusive) to 1 (exclusive)
 * @param askedMs pause requested by the API
 * @default none was requested
 */
export function pauseMs(attempt: number, fraction: number, askedMs = 0): number {
  const ceilingMs = Math.min(HIGHEST_CEILING_MS, FIRST_CEILING_MS * 2 ** attempt);
  return askedMs + Math.floor(fraction * ceilingMs);
}
