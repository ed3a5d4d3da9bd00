import type { PostgresJobId } from '../contract/jobs.ts';
import type { JobMarks } from './job-marks.ts';

/** Id of the job that copies rows from PostgreSQL. Its mark is stored under this id, which must never change. */
const MARK = 'carry' satisfies PostgresJobId;

/** Time after which the consumers of the Ledger's Stream have processed a row, in milliseconds. */
export const SETTLED_AFTER_MS = 30 * 60_000;

/** Time until which the Ledger is complete, if it is a copy of PostgreSQL. */
export interface CarriedUntil {
  /** Time before which the Ledger has every transition, in Unix milliseconds. */
  readonly untilMs: number;
  /**
   * The value that `untilMs` had at least {@link SETTLED_AFTER_MS} ago. Consumers of the Stream have processed all rows
   * before it.
   */
  readonly settledMs: number;
}

interface Mark extends CarriedUntil {
  /** The value that will become `settledMs`, and the time at which it was read from the outbox. */
  readonly next: { readonly untilMs: number; readonly atMs: number };
}

/** Reads the time until which the Ledger is complete. @returns undefined before the first pass over the outbox */
export async function readCarriedUntil(marks: Pick<JobMarks, 'readMark'>): Promise<CarriedUntil | undefined> {
  const text = await marks.readMark(MARK);
  return text === undefined ? undefined : (JSON.parse(text) as Mark);
}

/**
 * Stores the time until which the Ledger is complete. A row that was copied late may not be archived yet, although it
 * is old. Jobs that read the archive therefore use a reading that is at least half an hour old:
 *
 *   row A      ── created 12:00 ──────────────── copied 13:00 ────── archived 13:05
 *   reading 1  ──────────────── 12:50: until 11:34
 *   reading 2  ────────────────────────────────────────── 13:01: until 12:35, and 11:34 is settled at 13:20
 *
 * @param untilMs result of reading the outbox, in Unix milliseconds
 * @param atMs time just before the outbox was read, in Unix milliseconds
 * @returns false if another process has stored a time since this one read the mark
 */
export async function moveCarriedUntil(marks: JobMarks, untilMs: number, atMs: number): Promise<boolean> {
  const text = await marks.readMark(MARK);
  return marks.moveMark(MARK, text, JSON.stringify(nextMark(text, untilMs, atMs)));
}

/**
 * Returns the mark after a reading. If an operator has rows copied again, a reading can be earlier than the previous
 * one. In this case, later times are settled only by a reading that follows the operator's copy.
 */
function nextMark(text: string | undefined, untilMs: number, atMs: number): Mark {
  const reading = { untilMs, atMs };
  if (text === undefined) return { untilMs, settledMs: 0, next: reading };
  const { settledMs, next } = JSON.parse(text) as Mark;
  const isSettled = atMs - next.atMs >= SETTLED_AFTER_MS;
  return {
    untilMs,
    settledMs: Math.min(untilMs, isSettled ? next.untilMs : settledMs),
    next: isSettled || untilMs < next.untilMs ? reading : next,
  };
}
