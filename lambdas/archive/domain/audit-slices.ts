import type { Slice, VerifiedKind } from './verification.ts';

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;
/** The hour (UTC) at which the previous day is verified. By then, the last rows of that day have been archived. */
const NIGHT_HOUR = 2;
/** Hours in the shortest month. */
const HOURS_OF_MONTH = 28 * 24;

/**
 * Returns the time ranges that the auditor verifies in this hour. At night, it verifies the previous day. From the
 * beginning of a month, it also verifies, each hour, one slice of the data from before that month, until it has
 * verified every slice. The ranges depend only on the time and the start of the archive, so no run depends on an
 * earlier one.
 *
 *   first row                     month begins        night      now
 *   |--------|--------| … |--------|----------|----------|--------|
 *    hour 1   hour 2       hour n     the day before, each night
 *
 * @param firstMs start of the archive, in Unix milliseconds
 */
export function slicesOf(nowMs: number, firstMs: number): readonly Slice[] {
  const now = new Date(nowMs);
  const todayMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const monthMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1);
  const day = { kind: 'day', fromMs: todayMs - DAY_MS, untilMs: todayMs } as const;
  const night = now.getUTCHours() === NIGHT_HOUR ? [day] : [];
  // A slice shorter than a day would read almost as many objects as a whole day.
  const sizeMs = Math.max(DAY_MS, Math.ceil((monthMs - firstMs) / HOURS_OF_MONTH));
  const fromMs = firstMs + Math.floor((nowMs - monthMs) / HOUR_MS) * sizeMs;
  const part = { kind: 'part', fromMs, untilMs: Math.min(fromMs + sizeMs, monthMs) } as const;
  return [...night, ...(fromMs < monthMs ? [part] : [])];
}

/**
 * Number of past hours that are searched for the last due time. A day is due every night. A short archive is divided
 * into a few slices, which are due only at the beginning of each month.
 */
const LOOKBACK_HOURS = 32 * 24;

/**
 * Returns the last hour in which a verification of this kind was due and has had time to finish. A run starts five
 * minutes past the hour, and its last retry finishes within the hour.
 *
 * @param firstMs start of the archive, in Unix milliseconds
 * @param sinceMs time of the auditor's first run, in Unix milliseconds
 * @returns undefined when no verification has been due yet
 */
export function lastDueMs(kind: VerifiedKind, nowMs: number, firstMs: number, sinceMs: number): number | undefined {
  const thisHourMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS;
  for (let back = 1; back <= LOOKBACK_HOURS; back += 1) {
    const dueMs = thisHourMs - back * HOUR_MS;
    if (dueMs < sinceMs) return undefined;
    if (slicesOf(dueMs, firstMs).some((slice) => slice.kind === kind)) return dueMs;
  }
  return undefined;
}
