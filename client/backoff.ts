/** The ceiling of the first pause; it doubles with each attempt. Milliseconds. */
const FIRST_CEILING_MS = 500;
/** Milliseconds. */
const HIGHEST_CEILING_MS = 8_000;

/**
 * The pause before the next attempt: full jitter, after what the API asked for (`Retry-After`). Callers that failed together do not
 * come back together.
 *
 * @param attempt from 0
 * @param fraction random, from 0 up to, not including, 1
 * @param askedMs @default none was asked for
 */
export function pauseMs(attempt: number, fraction: number, askedMs = 0): number {
  const ceilingMs = Math.min(HIGHEST_CEILING_MS, FIRST_CEILING_MS * 2 ** attempt);
  return askedMs + Math.floor(fraction * ceilingMs);
}

/**
 * Reads `Retry-After` (RFC 9110, section 10.2.3): seconds or a date.
 *
 * @returns milliseconds; undefined when it is absent or malformed
 */
export function retryAfterMs(value: string | null, nowMs: number): number | undefined {
  if (value === null) return undefined;
  if (/^\s*\d{1,9}\s*$/.test(value)) return Number(value) * 1000;
  const dateMs = Date.parse(value);
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs);
}
