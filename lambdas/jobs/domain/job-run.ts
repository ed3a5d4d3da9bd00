import { defined } from '../../kernel/defined.ts';
import { JOB_WORKER_TIMEOUT_SECONDS } from '../contract/runs.ts';

/** Id of one run: `<job id>:<scheduled time>`. The id is the same for every caller and every request. */
export type RunId = `${string}:${string}`;

export const RUN_STATUSES = ['accepted', 'running', 'succeeded', 'failed'] as const;
type RunStatus = (typeof RUN_STATUSES)[number];

export interface JobRun {
  readonly jobId: string;
  readonly runId: RunId;
  /** Scheduled time of the run, in Unix milliseconds. Always a whole second. */
  readonly scheduledForMs: number;
  readonly status: RunStatus;
  readonly acceptedAtMs: number;
  /** Absent until a worker has begun. */
  readonly startedAtMs?: number;
  /** Absent until the run has succeeded or failed. */
  readonly endedAtMs?: number;
  /** Absent on the first page. */
  readonly cursor?: string;
  /** Number of times that a worker began the page at the cursor without finishing it. */
  readonly attempts: number;
  /**
   * Time at which a worker last started the page at the cursor, in Unix milliseconds. Absent when no page is in
   * progress.
   */
  readonly begunAtMs?: number;
  /**
   * Number of items that remain to be processed one by one, because one of them may crash its worker. Absent when no
   * item is suspected.
   */
  readonly oneByOne?: number;
  readonly done: number;
  readonly left: number;
  readonly failed: number;
  /** The names of skipped items, which crashed their worker repeatedly; at most the first 20. */
  readonly skipped: readonly string[];
  /** Absent when there are none. */
  readonly failedItems?: readonly string[];
  readonly reason?: string;
  /**
   * The version, which grows with every write. A worker's write fails if the version has changed since the worker read
   * the run.
   */
  readonly version: number;
}

/**
 * The run-id does not contain the Scheduler's execution id, which changes with every attempt.
 *
 * @param scheduledForMs Unix milliseconds, truncated to whole seconds
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
    skipped: [],
    version: 1,
  };
}

export function isEnded({ status }: JobRun): boolean {
  return status === 'succeeded' || status === 'failed';
}

// ------------------------------------------------------------------------------------------------------------ transitions

export const PAGE_ITEMS = 100;

/**
 * Maximum number of attempts to process a page as a whole. A single crash may have nothing to do with the page. After
 * two attempts without a result, the items of the page are processed one by one.
 */
const WHOLE_PAGE_ATTEMPTS = 2;
/**
 * Maximum number of attempts to process one item. An item that was processed alone and has crashed three workers would
 * probably crash a fourth one.
 */
const ONE_ITEM_ATTEMPTS = 3;
/**
 * Maximum number of attempts to skip one item. To skip an item, a worker reads only the item's name. If each attempt
 * crashes the worker, the run fails, because no worker can reach the next item.
 */
const SKIP_AFTER_ATTEMPTS = 2;

/**
 * Maximum number of names that a run stores: of skipped items, and, separately, of failed items. Further items are only
 * counted, so that the row stays small.
 */
const MAX_NAMES = 20;
const LONGEST_NAME = 200;

/** `pass_over`: skip one item. */
export type PageAttempt = 'whole_page' | 'one_item' | 'pass_over' | 'give_up';

export type RunCounts = Pick<JobRun, 'done' | 'left' | 'failed'>;

/** Without a cursor, no items remain. */
export interface PageProgress {
  readonly counts: RunCounts;
  readonly items: number;
  readonly failures?: readonly string[];
  readonly cursor?: string;
}

/** `attempts` counts earlier attempts only. */
export function nextAttempt({ attempts, oneByOne }: JobRun): PageAttempt {
  if (oneByOne === undefined && attempts < WHOLE_PAGE_ATTEMPTS) return 'whole_page';
  const alone = oneByOne === undefined ? 0 : attempts;
  if (alone < ONE_ITEM_ATTEMPTS) return 'one_item';
  return alone < ONE_ITEM_ATTEMPTS + SKIP_AFTER_ATTEMPTS ? 'pass_over' : 'give_up';
}

/**
 * Returns how long the worker of the current page may still be running, in milliseconds; 0 when it has certainly
 * ended.
 */
export function workerLivesMs({ begunAtMs }: JobRun, nowMs: number): number {
  return begunAtMs === undefined ? 0 : Math.max(0, begunAtMs + JOB_WORKER_TIMEOUT_SECONDS * 1000 - nowMs);
}

/**
 * Returns the run with one attempt fewer if the worker that began the page may still be running, because that attempt
 * has not crashed.
 */
export function withoutRunningAttempt(run: JobRun, nowMs: number): JobRun {
  return workerLivesMs(run, nowMs) > 0 ? { ...run, attempts: Math.max(0, run.attempts - 1) } : run;
}

/** The result must be written before any item is processed, so that a crash counts as an attempt. */
export function withPageStarted(run: JobRun, nowMs: number): JobRun {
  const begun = {
    ...run,
    status: 'running' as const,
    startedAtMs: run.startedAtMs ?? nowMs,
    begunAtMs: nowMs,
    version: run.version + 1,
  };
  const becomesSuspect = run.oneByOne === undefined && nextAttempt(run) !== 'whole_page';
  return becomesSuspect ? { ...begun, attempts: 1, oneByOne: PAGE_ITEMS } : { ...begun, attempts: run.attempts + 1 };
}

/** Without a cursor, the run has succeeded, even if items failed. */
export function withPageDone(
  run: JobRun,
  { counts, items, failures = [], cursor }: PageProgress,
  nowMs: number,
): JobRun {
  const oneByOne = (run.oneByOne ?? 0) - items;
  const failedItems = withNames(run.failedItems ?? [], failures);
  const now = failedItems.length === 0 ? run : { ...run, failedItems };
  return movedTo(cursor, counted(now, counts), oneByOne > 0 ? oneByOne : undefined, nowMs);
}

/** The next attempt processes a whole page. */
export function withSkippedItem(
  run: JobRun,
  item: { readonly name: string; readonly cursor?: string },
  nowMs: number,
): JobRun {
  const skipped = withNames(run.skipped, [item.name]);
  const failed = counted({ ...run, skipped }, { done: 0, left: 0, failed: 1 });
  return movedTo(item.cursor, failed, undefined, nowMs);
}

/** @param reason a code; it must not contain secrets */
export function withFailure(run: JobRun, reason: string, nowMs: number): JobRun {
  const { begunAtMs: _over, ...rest } = run;
  return { ...rest, status: 'failed', endedAtMs: nowMs, reason, version: run.version + 1 };
}

/** @param maxDurationSeconds maximum time since the run's start, or since its acceptance if it has not started */
export function isOverdue({ startedAtMs, acceptedAtMs }: JobRun, maxDurationSeconds: number, nowMs: number): boolean {
  return nowMs - (startedAtMs ?? acceptedAtMs) > maxDurationSeconds * 1000;
}

function withNames(known: readonly string[], names: readonly string[]): readonly string[] {
  return [...known, ...names.map((name) => name.slice(0, LONGEST_NAME))].slice(0, MAX_NAMES);
}

function counted(run: JobRun, { done, left, failed }: RunCounts): JobRun {
  return { ...run, done: run.done + done, left: run.left + left, failed: run.failed + failed };
}

function movedTo(cursor: string | undefined, run: JobRun, oneByOne: number | undefined, nowMs: number): JobRun {
  const { cursor: _behind, oneByOne: _before, begunAtMs: _over, ...rest } = run;
  const moved = { ...rest, attempts: 0, version: run.version + 1 };
  if (cursor === undefined) return { ...moved, status: 'succeeded', endedAtMs: nowMs };
  return { ...moved, cursor, ...defined({ oneByOne }) };
}
