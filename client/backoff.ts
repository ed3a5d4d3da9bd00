/** The ceiling of the first pause; it doubles with each attempt. Milliseconds. */
const FIRST_CEILING_MS = 500;
/** Milliseconds. */
const HIGHEST_CEILING_MS = 8_000;

/**
 * The pause before the next attempt: full jitter, in addition to the API's `Retry-After`, so that callers that failed
 * together do not retry together.
 *
 * @param attempt from 0
 * @param fraction random, from 0 up to, not including, 1
 * @param askedMs @default none was requested
 */
export function pauseMs(attempt: number, fraction: number, askedMs = 0): number {
  const ceilingMs = Math.min(HIGHEST_CEILING_MS, FIRST_CEILING_MS * 2 ** attempt);
  return askedMs + Math.floor(fraction * ceilingMs);
}
