const LONGEST_SECONDS = 3_600;

const MONTHS = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)';
const TIME = String.raw`\d\d:\d\d:\d\d`;
/** `IMF-fixdate`, and the obsolete form of RFC 850 (RFC 9110, section 5.6.7). */
const DATE = new RegExp(
  String.raw`^(?:[A-Z][a-z]{2}, \d\d ${MONTHS} \d{4}|[A-Z][a-z]{5,8}, \d\d-${MONTHS}-\d\d) ${TIME} GMT$`,
);
/** The obsolete form of `asctime`, whose time is GMT, too. */
const ASCTIME_DATE = new RegExp(String.raw`^[A-Z][a-z]{2} ${MONTHS} [ \d]\d ${TIME} \d{4}$`);

/**
 * Reads a Retry-After header in either of its forms (RFC 9110, section 10.2.3): seconds, or an HTTP date.
 *
 * @returns whole seconds from 0 to 3,600; undefined if the header is missing or invalid
 */
export function parseRetryAfter(header: string | null | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return Math.min(Number(text), LONGEST_SECONDS);
  // Date.parse alone accepts far more than HTTP dates: it reads "+40" as a year.
  const date = ASCTIME_DATE.test(text) ? `${text} GMT` : text;
  const atMs = date !== text || DATE.test(text) ? Date.parse(date) : Number.NaN;
  if (Number.isNaN(atMs)) return undefined;
  return Math.min(Math.max(0, Math.ceil((atMs - nowMs) / 1_000)), LONGEST_SECONDS);
}
