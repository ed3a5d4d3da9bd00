import type { PostgresJobId } from '../contract/jobs.ts';
import type { JobMarks } from './job-marks.ts';

/** Id of the job that copies rows from PostgreSQL. Its mark is stored under this id, which must never change. */
const MARK = 'carry' satisfies PostgresJobId;

/** Maximum time that the consumers of the Ledger's Stream need to process a new row, in milliseconds. */
export const SETTLED_AFTER_MS = 30 * 60_000;

export interface CarriedUntil {
  /** The Ledger has every transition from before this time, in Unix milliseconds. */
  readonly untilMs: number;
  /** Like `untilMs`, but only for the PostgreSQL database whose copies are the most recent. */
  readonly latestMs: number;
  /**
   * The value that `untilMs` had at least {@link SETTLED_AFTER_MS} ago. Consumers of the Stream have processed all rows
   * from before `settledMs`.
   */
  readonly settledMs: number;
}

interface Mark extends CarriedUntil {
  /** The value that will become `settledMs`, and the time at which it was read from the outbox. */
  readonly next: { readonly untilMs: number; readonly atMs: number };
}

/** @returns undefined before the first pass over the outbox */
export async function readCarriedUntil(marks: Pick<JobMarks, 'readMark'>): Promise<CarriedUntil | undefined> {
  const text = await marks.readMark(MARK);
  if (text === undefined) return undefined;
  const mark = JSON.parse(text) as Omit<Mark, 'latestMs'> & Partial<Mark>;
  // A mark of an earlier version has no `latestMs`.
  return { latestMs: mark.untilMs, ...mark };
}

/**
 * Stores the time until which the Ledger is complete. A row that was copied late may not be archived yet, although it
 * is old. Jobs that read the archive therefore use a reading that is at least half an hour old:
 *
 *   row A      ── created 12:00 ──────────────── copied 13:00 ────── archived 13:05
 *   reading 1  ──────────────── 12:50: until 11:34
 *   reading 2  ────────────────────────────────────────── 13:01: until 12:35, and 11:34 is settled at 13:20
 *
 * @param times result of reading the outbox of each database, in Unix milliseconds; undefined if it could not be read
 * @param atMs time just before the outboxes were read, in Unix milliseconds
 * @returns false if another process has stored a time since this process read the mark, or if the response to the write
 * was lost. The caller may repeat the call, which stores the same time.
 */
export async function moveCarriedUntil(
  marks: JobMarks,
  times: readonly (number | undefined)[],
  atMs: number,
): Promise<boolean> {
  const text = await marks.readMark(MARK);
  return marks.moveMark(MARK, text, JSON.stringify(nextMark(text, times, atMs)));
}

/**
 * Returns the mark after a reading of the outboxes. A reading can return an earlier time than the previous one, because
 * an operator can request that old rows are copied again. Times after the earlier time are then settled only by a
 * reading that follows this copy.
 */
function nextMark(text: string | undefined, times: readonly (number | undefined)[], atMs: number): Mark {
  const before = text === undefined ? undefined : (JSON.parse(text) as Mark);
  // If an outbox cannot be read, the copies of its database are complete only until the previous time.
  const untilMs = Math.min(...times.map((time) => time ?? before?.untilMs ?? 0));
  const latestMs = Math.max(...times.flatMap((time) => time ?? []));
  const reading = { untilMs, atMs };
  if (before === undefined) return { untilMs, latestMs, settledMs: 0, next: reading };
  const { settledMs, next } = before;
  const isSettled = atMs - next.atMs >= SETTLED_AFTER_MS;
  return {
    untilMs,
    latestMs,
    settledMs: Math.min(untilMs, isSettled ? next.untilMs : settledMs),
    next: isSettled || untilMs < next.untilMs ? reading : next,
  };
}
