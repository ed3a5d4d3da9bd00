import type { Bounds } from './judge-chain.ts';

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;
/** The day before is verified at this hour (UTC). Its last rows are archived by then. */
const NIGHT_HOUR = 2;
/** Hours of the shortest month. */
const HOURS_OF_MONTH = 28 * 24;

/**
 * What the auditor verifies in this hour: at night the day before, and in each hour of a month another part of everything before the month.
 * It follows from the time alone, so nothing is remembered between two runs.
 *
 *   first row                     month begins        night      now
 *   |--------|--------| … |--------|----------|----------|--------|
 *    hour 1   hour 2       hour n     the day before, each night
 *
 * @param firstMs when the archive begins
 */
export function slicesOf(nowMs: number, firstMs: number): readonly Bounds[] {
  const now = new Date(nowMs);
  const todayMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
  const monthMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1);
  const night = now.getUTCHours() === NIGHT_HOUR ? [{ fromMs: todayMs - DAY_MS, untilMs: todayMs }] : [];
  // A part shorter than a day would read almost the same objects as a day.
  const sizeMs = Math.max(DAY_MS, Math.ceil((monthMs - firstMs) / HOURS_OF_MONTH));
  const fromMs = firstMs + Math.floor((nowMs - monthMs) / HOUR_MS) * sizeMs;
  const part = fromMs < monthMs ? [{ fromMs, untilMs: Math.min(fromMs + sizeMs, monthMs) }] : [];
  return [...night, ...part];
}
