import type { RunId } from '../domain/job-run.ts';

/** Number of a job's items by result. Each item counts once. */
export interface JobCounts {
  readonly done: number;
  /** Items that are not due or cannot be processed yet. A later run tries them again. */
  readonly left: number;
  /** Items that failed and were reported. A later run tries them again. */
  readonly failed: number;
}

/** One item, and the cursor after it. */
export interface JobItem<Thing> {
  readonly thing: Thing;
  /** Identifies the item in logs. It must not contain secrets. */
  readonly name: string;
  /** The cursor with which a run continues after this item. */
  readonly after: string;
}

export interface JobPage<Thing> {
  /** The items in processing order. */
  readonly items: readonly JobItem<Thing>[];
  /** The cursor of the next page; absent after the last page. A page without items may have a next page. */
  readonly next?: string;
}

export interface JobRunContext {
  readonly runId: RunId;
  /** The scheduled time of the run, in Unix milliseconds; not the time at which it is processed. */
  readonly scheduledForMs: number;
}

/**
 * Work that a run processes item by item. After a crash, a worker reads the page again and may process an item twice;
 * the second time must have no further effect.
 */
export interface Job<Thing = unknown> {
  /**
   * Maximum number of items that are processed concurrently. Items begin in order but may finish in any order. @default
   * 1
   */
  readonly atOnce?: number;
  /** Reads at most `limit` items from the cursor on, and changes nothing. @param cursor undefined at the beginning */
  page(cursor: string | undefined, limit: number, run: JobRunContext): Promise<JobPage<Thing>>;
  /**
   * Processes one item. Must be idempotent.
   *
   * @param deadlineMs time, in Unix milliseconds, at which an item with several parts stops and counts the remaining
   * parts as left
   * @throws when the item failed; it counts as failed, and the run continues
   */
  handle(thing: Thing, run: JobRunContext & { readonly deadlineMs: number }): Promise<JobCounts>;
}

export const ONE_DONE: JobCounts = { done: 1, left: 0, failed: 0 };
export const ONE_LEFT: JobCounts = { done: 0, left: 1, failed: 0 };
