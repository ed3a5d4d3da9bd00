/** When unfinished work is looked up, and in which order, so that no entry of a long queue is starved. */

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

/** Most payers act immediately or never. A callback reports the action. The look-up finds it if the callback was lost. */
const PAYER_LOOKS: Looks = [
  [DAY_MS, 15],
  [7 * DAY_MS, 60],
  [Number.POSITIVE_INFINITY, 24 * 60],
];

/** A bank decides in days or months. A callback reports the decision. The look-up finds it if the callback was lost. */
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

/** Whether an inquiry is due in this minute. Inquiries of the same age are spread over the minutes by their ids. */
export function isInquiryDue({ operationId, claimedAtMs, waitsFor }: Looked, nowMs: number): boolean {
  const ageMs = nowMs - claimedAtMs;
  const every = LOOKS[waitsFor ?? 'answer'].find(([belowAgeMs]) => ageMs < belowAgeMs)?.[1] ?? 1;
  return (Math.floor(nowMs / MINUTE_MS) + spreadOf(operationId)) % every === 0;
}

/** Longer than the longest wait between two looks. Minutes. */
const SPREAD_MINUTES = 24 * 60;

/** The offset of an id against others. Minutes. */
function spreadOf(name: string): number {
  let spread = 0;
  for (const letter of name) spread = (spread * 31 + (letter.codePointAt(0) ?? 0)) % SPREAD_MINUTES;
  return spread;
}

/** The golden ratio. Its multiples soon leave no large gap ("three-distance theorem"), for any number of entries. */
const GOLDEN = (Math.sqrt(5) - 1) / 2;

/**
 * The position at which the run of this minute begins in a queue, from 0 up to, not including, 1. Consecutive minutes begin far
 * from each other and soon at every position, so that entries for which a run has no time are among the first of a later run.
 */
export function turnOf(nowMs: number): number {
  return (Math.floor(nowMs / MINUTE_MS) * GOLDEN) % 1;
}

/** The same entries, beginning at the position of this minute. */
export function fromTurn<Thing>(things: readonly Thing[], nowMs: number): readonly Thing[] {
  const start = Math.floor(turnOf(nowMs) * things.length);
  return [...things.slice(start), ...things.slice(0, start)];
}
