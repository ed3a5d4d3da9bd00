import { JOB_WORKER_TIMEOUT_SECONDS } from '../contract.ts';

/** `<job id>:<scheduled time>`: names one run, whoever asks for it and however often. */
export type RunId = `${string}:${string}`;

export const RUN_STATUSES = ['accepted', 'running', 'succeeded', 'failed'] as const;
type RunStatus = (typeof RUN_STATUSES)[number];

/** A run of a job, as it stands. */
export interface JobRun {
  readonly jobId: string;
  readonly runId: RunId;
  /** Unix milliseconds, whole seconds. */
  readonly scheduledForMs: number;
  readonly status: RunStatus;
  readonly acceptedAtMs: number;
  /** Left out until a worker has begun. */
  readonly startedAtMs?: number;
  /** Left out until it has succeeded or failed. */
  readonly endedAtMs?: number;
  /** Where the next page begins; left out at the beginning. */
  readonly cursor?: string;
  /** How often the page at the cursor was begun by a worker that did not come back. */
  readonly attempts: number;
  /** When the page at the cursor was last begun; left out when none is under way. */
  readonly begunAtMs?: number;
  /** How many more items are taken one by one, because one of them may kill its worker; left out where none is feared. */
  readonly oneByOne?: number;
  readonly done: number;
  readonly left: number;
  readonly failed: number;
  /** Names of items that killed their worker again and again, and that were passed over. */
  readonly setAside: readonly string[];
  /** Why it failed. */
  readonly reason?: string;
  /** Grows with every write: a worker's write replaces only what it has read. */
  readonly version: number;
}

/**
 * The run for a scheduled time. The id of an execution never enters it: that changes with every attempt.
 *
 * @param scheduledForMs Unix milliseconds; parts of a second are cut off, as a schedule has none
 */
export function runIdOf(jobId: string, scheduledForMs: number): RunId {
  const seconds = Math.floor(scheduledForMs / 1000) * 1000;
  return `${jobId}:${new Date(seconds).toISOString().replace('.000Z', 'Z')}`;
}

export function acceptedRun(jobId: string, scheduledForMs: number, nowMs: number): JobRun {
  return {
    jobId,
    runId: runIdOf(jobId, scheduledForMs),
    scheduledForMs: Math.floor(scheduledForMs / 1000) * 1000,
    status: 'accepted',
    acceptedAtMs: nowMs,
    attempts: 0,
    done: 0,
    left: 0,
    failed: 0,
    setAside: [],
    version: 1,
  };
}

export function isEnded({ status }: JobRun): boolean {
  return status === 'succeeded' || status === 'failed';
}

// ------------------------------------------------------------------------------------------------------------ transitions

/** Items that a page has at most: a record that is behind by a page was written a minute ago. */
export const PAGE_ITEMS = 100;

/** A worker may die once by chance; a page that ends two is looked at item by item. */
const WHOLE_PAGE_ATTEMPTS = 2;
/** An item that ends three workers, alone with it, would end the fourth. */
const ONE_ITEM_ATTEMPTS = 3;
/** Passing an item over reads no more than its name; where even that fails, nothing behind it can be reached. */
const PASS_OVER_ATTEMPTS = 2;

/** Names that are kept of what was set aside; beyond them it is only counted. A run stays far below the size of a row. */
const MOST_NAMES = 20;
const LONGEST_NAME = 200;

/** How the page at the cursor is worked at next. */
export type PageAttempt = 'whole_page' | 'one_item' | 'pass_over' | 'give_up';

export type RunCounts = Pick<JobRun, 'done' | 'left' | 'failed'>;

/** What came of the items in front of `cursor`; without one there is nothing behind them. */
export interface PageProgress {
  readonly counts: RunCounts;
  /** How many items it were. */
  readonly items: number;
  readonly cursor?: string;
}

/** @returns for the run as it was read, before the attempt is counted */
export function nextAttempt({ attempts, oneByOne }: JobRun): PageAttempt {
  if (oneByOne === undefined && attempts < WHOLE_PAGE_ATTEMPTS) return 'whole_page';
  const alone = oneByOne === undefined ? 0 : attempts;
  if (alone < ONE_ITEM_ATTEMPTS) return 'one_item';
  return alone < ONE_ITEM_ATTEMPTS + PASS_OVER_ATTEMPTS ? 'pass_over' : 'give_up';
}

/** How long the worker may still live that has begun the page at the cursor: until then it is at work, and not dead. Milliseconds. */
export function workerLivesMs({ begunAtMs }: JobRun, nowMs: number): number {
  return begunAtMs === undefined ? 0 : Math.max(0, begunAtMs + JOB_WORKER_TIMEOUT_SECONDS * 1000 - nowMs);
}

/** A worker that was overtaken while it lived has not died of its page: its attempt does not count. */
export function withoutOvertaken(run: JobRun, nowMs: number): JobRun {
  return workerLivesMs(run, nowMs) > 0 ? { ...run, attempts: Math.max(0, run.attempts - 1) } : run;
}

/** Written before anything is touched: a worker that dies in the middle has been counted. */
export function begunPage(run: JobRun, nowMs: number): JobRun {
  const begun = {
    ...run,
    status: 'running' as const,
    startedAtMs: run.startedAtMs ?? nowMs,
    begunAtMs: nowMs,
    version: run.version + 1,
  };
  const frightened = run.oneByOne === undefined && nextAttempt(run) !== 'whole_page';
  return frightened ? { ...begun, attempts: 1, oneByOne: PAGE_ITEMS } : { ...begun, attempts: run.attempts + 1 };
}

/** The items in front of the new cursor are behind us. Where nothing follows, the run has succeeded, whatever became of them. */
export function pageDone(run: JobRun, { counts, items, cursor }: PageProgress, nowMs: number): JobRun {
  const fear = (run.oneByOne ?? 0) - items;
  return movedTo(cursor, counted(run, counts), fear > 0 ? fear : undefined, nowMs);
}

/** The item was what they died of: it counts as failed, is kept by name, and what follows is taken by whole pages again. */
export function itemSetAside(
  run: JobRun,
  item: { readonly name: string; readonly cursor?: string },
  nowMs: number,
): JobRun {
  const setAside =
    run.setAside.length < MOST_NAMES ? [...run.setAside, item.name.slice(0, LONGEST_NAME)] : run.setAside;
  const failed = counted({ ...run, setAside }, { done: 0, left: 0, failed: 1 });
  return movedTo(item.cursor, failed, undefined, nowMs);
}

/** @param reason a code, and no secret */
export function runFailed(run: JobRun, reason: string, nowMs: number): JobRun {
  const { begunAtMs: _over, ...rest } = run;
  return { ...rest, status: 'failed', endedAtMs: nowMs, reason, version: run.version + 1 };
}

/** Too long under way, or too long without a worker. @param maxDurationSeconds from its beginning, or from its acceptance until it has one */
export function isOverdue({ startedAtMs, acceptedAtMs }: JobRun, maxDurationSeconds: number, nowMs: number): boolean {
  return nowMs - (startedAtMs ?? acceptedAtMs) > maxDurationSeconds * 1000;
}

function counted(run: JobRun, { done, left, failed }: RunCounts): JobRun {
  return { ...run, done: run.done + done, left: run.left + left, failed: run.failed + failed };
}

function movedTo(cursor: string | undefined, run: JobRun, oneByOne: number | undefined, nowMs: number): JobRun {
  const { cursor: _behind, oneByOne: _before, begunAtMs: _over, ...rest } = run;
  const moved = { ...rest, attempts: 0, version: run.version + 1 };
  if (cursor === undefined) return { ...moved, status: 'succeeded', endedAtMs: nowMs };
  return { ...moved, cursor, ...(oneByOne === undefined ? {} : { oneByOne }) };
}
