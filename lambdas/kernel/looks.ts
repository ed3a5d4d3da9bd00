/** When what takes long is looked at, and who comes first: so that nothing is starved, however much of it there is. */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Looks become rarer with age. Each step applies below its age; the last one has no limit. */
type Looks = readonly (readonly [belowAgeMs: number, everyMinutes: number])[];

/** At every run for the first hour, while a client may be waiting; rarely for outcomes that take days. */
const OUTCOME_LOOKS: Looks = [
  [HOUR_MS, 1],
  [Number.POSITIVE_INFINITY, 15],
];

/** Most payers act at once or never. A callback reports the action; a look finds it when the callback was lost. */
const PAYER_LOOKS: Looks = [
  [DAY_MS, 15],
  [7 * DAY_MS, 60],
  [Number.POSITIVE_INFINITY, 24 * 60],
];

/** A bank decides in days or months and tells by a callback; the look is for a lost one. */
const BANK_LOOKS: Looks = [
  [DAY_MS, 60],
  [Number.POSITIVE_INFINITY, 24 * 60],
];

const LOOKS = { payer: PAYER_LOOKS, bank: BANK_LOOKS, books: OUTCOME_LOOKS, answer: OUTCOME_LOOKS } as const;

export interface Looked {
  readonly operationId: string;
  readonly claimedAtMs: number;
  readonly waitsFor?: 'payer' | 'bank' | 'books';
}

/** Whether an inquiry is made in this minute. Those of one age are spread over the minutes by their names. */
export function isInquiryDue({ operationId, claimedAtMs, waitsFor }: Looked, nowMs: number): boolean {
  const ageMs = nowMs - claimedAtMs;
  const every = LOOKS[waitsFor ?? 'answer'].find(([belowAgeMs]) => ageMs < belowAgeMs)?.[1] ?? 1;
  return (Math.floor(nowMs / MINUTE_MS) + spreadOf(operationId)) % every === 0;
}

/** Longer than the longest wait between two looks. Minutes. */
const SPREAD_MINUTES = 24 * 60;

/** By how many minutes what has this name is moved against others. */
function spreadOf(name: string): number {
  let spread = 0;
  for (const letter of name) spread = (spread * 31 + (letter.codePointAt(0) ?? 0)) % SPREAD_MINUTES;
  return spread;
}

/** The golden ratio: its multiples leave no gap for long ("three-distance theorem"), whatever the length of the row. */
const GOLDEN = (Math.sqrt(5) - 1) / 2;

/**
 * Where the run of this minute begins in a row of things, from 0 up to, not including, 1. Consecutive minutes begin far from
 * each other and soon everywhere, so that what a run has no time for is among the first of a later one.
 */
export function turnOf(nowMs: number): number {
  return (Math.floor(nowMs / MINUTE_MS) * GOLDEN) % 1;
}

/** The same things, beginning where it is their turn. */
export function fromTurn<Thing>(things: readonly Thing[], nowMs: number): readonly Thing[] {
  const start = Math.floor(turnOf(nowMs) * things.length);
  return [...things.slice(start), ...things.slice(0, start)];
}
