/** Seconds. A longer wait is shortened to this, so that a client is not told to wait for a day. */
const LONGEST_SECONDS = 3_600;

/**
 * Reads a Retry-After header in either of its forms (RFC 9110, section 10.2.3): seconds, or an HTTP date.
 *
 * @returns whole seconds from 0 to 3,600; undefined if the header is missing or invalid
 */
export function parseRetryAfter(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined;
  const text = header.trim();
  if (/^\d+$/.test(text)) return Math.min(Number(text), LONGEST_SECONDS);
  // All three date formats of the RFC contain the name of the month. Date.parse would also accept "1.5".
  const atMs = /[A-Za-z]{3}/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(atMs)) return undefined;
  return Math.min(Math.max(0, Math.ceil((atMs - nowMs) / 1_000)), LONGEST_SECONDS);
}
