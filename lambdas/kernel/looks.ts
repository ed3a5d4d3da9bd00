/* Each entry stores the time of its next look-up, and each queue is read in the order of these times. */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/**
 * The interval between look-ups grows with the age of the entry. Each step applies to ages below its limit; the last
 * step has no limit.
 */
type Steps = readonly (readonly [belowAgeMs: number, everyMinutes: number])[];

/**
 * Look-ups for an unknown outcome: at every run in the first hour, while a client may be waiting. Later look-ups are
 * less frequent, because an outcome that is still unknown by then usually stays unknown for days.
 */
const OUTCOME: Steps = [
  [HOUR_MS, 1],
  [Number.POSITIVE_INFINITY, 15],
];

/**
 * Most payers act immediately or never. A callback reports the action; the look-up finds the action if the callback was
 * lost.
 */
const PAYER: Steps = [
  [DAY_MS, 15],
  [7 * DAY_MS, 60],
  [Number.POSITIVE_INFINITY, 24 * 60],
];

/** The decision takes days or months. A callback reports it; the look-up finds it if the callback was lost. */
const BANK: Steps = [
  [DAY_MS, 60],
  [Number.POSITIVE_INFINITY, 24 * 60],
];

const ORDER: Steps = [
  [HOUR_MS, 1],
  [DAY_MS, 15],
  [Number.POSITIVE_INFINITY, 60],
];

/**
 * Look-ups for a charge that another program made. Such a charge never becomes one of Payonce's, so few reads at the
 * processor are enough.
 */
const FOREIGN: Steps = [
  [10 * MINUTE_MS, 5],
  [HOUR_MS, 30],
  [Number.POSITIVE_INFINITY, 6 * 60],
];

const STEPS = {
  payer: PAYER,
  bank: BANK,
  books: OUTCOME,
  answer: OUTCOME,
  order: ORDER,
  orphan: OUTCOME,
  foreign: FOREIGN,
} as const;

export interface LookUpSchedule {
  readonly kind: keyof typeof STEPS;
  /** Selects the minute within the interval, so that entries of the same age are spread out. */
  readonly name: string;
  /** The entry's age is counted from this time, in Unix milliseconds. */
  readonly sinceMs: number;
}

/** Returns the time of the first look-up, in Unix milliseconds: at the next run, or within the first interval. */
export function firstLookUpMs(schedule: LookUpSchedule): number {
  return lookFrom(schedule, schedule.sinceMs);
}

/** The next look-up is at most one interval after the run that began at `lookedAtMs`. */
export function nextLookUpMs(schedule: LookUpSchedule, lookedAtMs: number): number {
  return lookFrom(schedule, lookedAtMs + MINUTE_MS);
}

export function lookUpIntervalMs({ kind, sinceMs }: LookUpSchedule, atMs: number): number {
  const [, everyMinutes = 1] = STEPS[kind].find(([belowAgeMs]) => atMs - sinceMs < belowAgeMs) ?? [];
  return everyMinutes * MINUTE_MS;
}

/**
 * Returns the first time in the entry's own schedule that is not before the minute of `fromMs`, in Unix milliseconds.
 */
function lookFrom(schedule: LookUpSchedule, fromMs: number): number {
  const every = lookUpIntervalMs(schedule, fromMs) / MINUTE_MS;
  const minute = Math.floor(fromMs / MINUTE_MS);
  const past = (minute + spreadOf(schedule.name)) % every;
  return (past === 0 ? minute : minute + every - past) * MINUTE_MS;
}

/** The longest interval between two look-ups. */
const SPREAD_MINUTES = 24 * 60;

function spreadOf(name: string): number {
  let spread = 0;
  for (const letter of name) spread = (spread * 31 + (letter.codePointAt(0) ?? 0)) % SPREAD_MINUTES;
  return spread;
}

export interface Due {
  readonly untilMs: number;
  readonly limit: number;
}
