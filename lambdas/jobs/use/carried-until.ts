import type { PostgresJobId } from '../contract/jobs.ts';
import type { JobMarks } from './job-marks.ts';

/** The mark of the job that copies rows from PostgreSQL. It must never change. */
const MARK = 'carry' satisfies PostgresJobId;

/** Time after which readers of the Stream have processed a row of the Ledger, in milliseconds. */
export const SETTLED_AFTER_MS = 30 * 60_000;

/** How far the Ledger is complete, when it is a copy. */
export interface CarriedUntil {
  /** Time before which the Ledger has every transition, in Unix milliseconds. */
  readonly untilMs: number;
  /** The value of `untilMs` at least {@link SETTLED_AFTER_MS} ago. */
  readonly settledMs: number;
}

interface Mark extends CarriedUntil {
  /** The reading that becomes `settledMs`, and its time. */
  readonly next: { readonly untilMs: number; readonly atMs: number };
}

/** Reads how far the Ledger is complete. @returns undefined when no pass over the outbox has ended yet */
export async function readCarriedUntil(marks: Pick<JobMarks, 'readMark'>): Promise<CarriedUntil | undefined> {
  const text = await marks.readMark(MARK);
  return text === undefined ? undefined : (JSON.parse(text) as Mark);
}

/**
 * Stores how far the Ledger is complete. A row that was copied late is not archived yet, although it is old. Readers of
 * the archive therefore stop at a reading that is half an hour old:
 *
 *   row A      ── created 12:00 ──────────────── copied 13:00 ────── archived 13:05
 *   reading 1  ──────────────── 12:50: until 11:34
 *   reading 2  ────────────────────────────────────────── 13:01: until 12:35, and 11:34 is settled at 13:20
 *
 * @param untilMs as returned by the reading of the outbox
 * @param atMs time before that reading, in Unix milliseconds
 */
export async function moveCarriedUntil(marks: JobMarks, untilMs: number, atMs: number): Promise<void> {
  const text = await marks.readMark(MARK);
  await marks.moveMark(MARK, text, JSON.stringify(nextMark(text, untilMs, atMs)));
}

/**
 * Returns the mark after a reading. A reading can be earlier than the last one, if an operator has rows copied again.
 * Times after such a reading are settled only by a reading after those copies.
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
