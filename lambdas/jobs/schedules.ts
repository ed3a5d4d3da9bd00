import { Cron } from 'croner';

/**
 * Synthesis and the API use the same parser. Only this file translates between AWS's syntax and the syntax of `croner`.
 */
export type Schedule =
  | { readonly kind: 'rate'; readonly everyMs: number }
  | { readonly kind: 'cron'; readonly cron: Cron };

export type ReadSchedule =
  | { readonly kind: 'read'; readonly schedule: Schedule }
  /** `reason` states the allowed form. Messages consist of the given expression, followed by the reason. */
  | { readonly kind: 'invalid'; readonly reason: string };

const UNITS_MS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;
const RATE = /^rate\((?<value>[1-9]\d{0,8}) (?<unit>minute|hour|day)(?<many>s?)\)$/;
const CRON = /^cron\((?<fields>[^()]*)\)$/;

interface Field {
  readonly name: string;
  readonly form: RegExp;
  readonly allowed: string;
}

/**
 * Cron fields, in order. `croner` checks the ranges of numbers; `form` checks them only where AWS allows a smaller
 * range.
 */
const FIELDS: readonly Field[] = [
  { name: 'minutes', form: /^[\d,\-*/]+$/, allowed: '0 to 59 with , - * /' },
  { name: 'hours', form: /^[\d,\-*/]+$/, allowed: '0 to 23 with , - * /' },
  { name: 'day of month', form: /^(?:\?|L|LW|[1-9]\d?W|[\d,\-*/]+)$/, allowed: '1 to 31 with , - * / ? L W' },
  { name: 'month', form: /^[\dA-Z,\-*/]+$/, allowed: '1 to 12 or JAN to DEC with , - * /' },
  {
    name: 'day of week',
    form: /^(?:\?|L|\*|(?:[1-7]|[A-Z]{3})(?:L|#[1-5])|(?:[1-7]|[A-Z]{3})(?:[,-](?:[1-7]|[A-Z]{3}))*)$/,
    allowed: '1 to 7, 1 being Sunday, or SUN to SAT with , - * ? L #',
  },
  {
    name: 'year',
    form: /^(?:\*|(?:19[789]\d|2[01]\d\d)(?:[,\-/]\d+)*|\*\/\d+)$/,
    allowed: '1970 to 2199 with , - * /',
  },
];
const [DAY_OF_MONTH, DAY_OF_WEEK] = [2, 4];
/** Maximum value of each field. AWS's `n/step` covers the values from `n` to this maximum. */
const LAST = [59, 23, 31, 12, 7, 2199];

/** @param timeZone an IANA time zone name; applies to `cron` only. @default UTC */
export function readSchedule(text: string, timeZone?: string): ReadSchedule {
  const { value, unit, many } = RATE.exec(text)?.groups ?? {};
  if (value !== undefined && unit !== undefined) return readRate(Number(value), unit as keyof typeof UNITS_MS, many);
  const { fields } = CRON.exec(text)?.groups ?? {};
  if (fields !== undefined) return readCron(fields.split(' '), timeZone ?? 'UTC');
  return invalid(
    'must be rate(1 minute | hour | day), rate(<n> minutes | hours | days), or cron(<minutes> <hours> <day of month> <month> <day of week> <year>)',
  );
}

function readRate(value: number, unit: keyof typeof UNITS_MS, many: string | undefined): ReadSchedule {
  const wanted = value === 1 ? unit : `${unit}s`;
  if ((many === '') !== (value === 1)) return invalid(`must say ${value} ${wanted}`);
  return { kind: 'read', schedule: { kind: 'rate', everyMs: value * UNITS_MS[unit] } };
}

function readCron(fields: readonly string[], timeZone: string): ReadSchedule {
  if (fields.length !== FIELDS.length) {
    const names = FIELDS.map(({ name }) => name).join(', ');
    return invalid(`must have ${FIELDS.length} fields with a space between them: ${names}`);
  }
  const wrong = FIELDS.find(({ form }, index) => !form.test(fields[index] ?? ''));
  if (wrong !== undefined) return invalid(`must have a valid ${wrong.name} field: ${wrong.allowed}`);
  if ((fields[DAY_OF_MONTH] === '?') === (fields[DAY_OF_WEEK] === '?')) {
    return invalid('must have ? as either the day of month or the day of week, but not both');
  }
  try {
    const pattern = `0 ${fields.map(translated).join(' ')}`;
    const cron = new Cron(pattern, { mode: '7-part', alternativeWeekdays: true, timezone: timeZone, paused: true });
    if (cron.nextRun(new Date(0)) === null) return invalid('must fire at least once: no date matches these fields');
    return { kind: 'read', schedule: { kind: 'cron', cron } };
  } catch (error) {
    return invalid(`must be valid: ${error instanceof Error ? error.message : 'it cannot be parsed'}`);
  }
}

function translated(field: string, index: number): string {
  if (field === '?') return '*';
  // In AWS's syntax, `L` is the last day of a week that begins on Sunday.
  if (index === DAY_OF_WEEK && field === 'L') return 'SAT';
  return field.replaceAll(/(^|,)(\d+)\//g, (_all, before: string, from: string) => `${before}${from}-${LAST[index]}/`);
}

function invalid(reason: string): ReadSchedule {
  return { kind: 'invalid', reason };
}

/** Matches names in the IANA time zone database: each segment begins with a capital letter. Does not match offsets. */
const ZONE_NAME = /^[A-Z][A-Za-z0-9_+-]*(?:\/[A-Z][A-Za-z0-9_+-]*){0,2}$/;

export function isTimeZone(name: string): boolean {
  if (!ZONE_NAME.test(name)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

const MINUTE_MS = 60_000;
/** Upper limit on the number of minutes that a daylight-saving change skips or repeats. */
const MAX_DST_MINUTES = 200;

/**
 * Returns the next scheduled time by the rules of EventBridge Scheduler (user guide, "Daylight savings time"): the
 * schedule does not fire at a local time that is skipped in spring, and fires only once at a local time that occurs
 * twice in autumn.
 *
 * @param lastMs the last scheduled time, in Unix milliseconds. A rate is counted from this time, because the start of
 * the schedule is not known
 * @returns Unix milliseconds, after `nowMs`; undefined when there is no further time or it cannot be computed
 */
export function nextScheduled(schedule: Schedule, nowMs: number, lastMs?: number): number | undefined {
  if (schedule.kind === 'rate') return lastMs === undefined ? undefined : nextOfRate(schedule.everyMs, nowMs, lastMs);
  let afterMs = nowMs;
  for (let leapt = 0; leapt < MAX_DST_MINUTES; leapt += 1) {
    const next = schedule.cron.nextRun(new Date(afterMs));
    if (next === null) return undefined;
    const nextMs = next.getTime();
    // For a skipped local time, the library returns a time that does not match the pattern.
    if (nextMs > nowMs && schedule.cron.match(next) && !isSecondStrike(schedule.cron, nextMs)) return nextMs;
    // Within the repeated hour, the library returns the first occurrence again. If so, advance the search by one
    // minute.
    afterMs = nextMs > afterMs ? nextMs : (Math.floor((afterMs + 1) / MINUTE_MS) + 1) * MINUTE_MS - 1;
  }
  return undefined;
}

/** The largest change of a zone's offset from UTC on one day, in milliseconds. */
const LARGEST_SHIFT_MS = 2 * 3_600_000;
const HALF_AN_HOUR_MS = 1_800_000;

function isSecondStrike(cron: Cron, timeMs: number): boolean {
  const wall = wallClock(cron, timeMs);
  for (let agoMs = HALF_AN_HOUR_MS; agoMs <= LARGEST_SHIFT_MS; agoMs += HALF_AN_HOUR_MS) {
    if (wallClock(cron, timeMs - agoMs) === wall) return true;
  }
  return false;
}

function wallClock({ options: { timezone } }: Cron, timeMs: number): string {
  const form = { timeZone: timezone ?? 'UTC', dateStyle: 'short', timeStyle: 'medium', hourCycle: 'h23' } as const;
  return new Intl.DateTimeFormat('en', form).format(timeMs);
}

function nextOfRate(everyMs: number, nowMs: number, lastMs: number): number {
  const missed = Math.max(0, Math.floor((nowMs - lastMs) / everyMs));
  return lastMs + (missed + 1) * everyMs;
}
