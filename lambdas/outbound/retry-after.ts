/** A vendor that asks for more is asked again after this; a client is not sent away for a day. Seconds. */
const LONGEST_SECONDS = 3_600;

/**
 * Reads a Retry-After header in either of its forms (RFC 9110, section 10.2.3): seconds, or an HTTP date.
 *
 * @returns whole seconds from 0 to 3,600; undefined when there is no header or it cannot be read
 */
export function parseRetryAfter(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined;
  const text = header.trim();
  if (/^\d+$/.test(text)) return Math.min(Number(text), LONGEST_SECONDS);
  // Of the three date forms of the RFC all name a month in letters, which keeps odd numbers such as "1.5" out.
  const atMs = /[A-Za-z]{3}/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(atMs)) return undefined;
  return Math.min(Math.max(0, Math.ceil((atMs - nowMs) / 1_000)), LONGEST_SECONDS);
}
