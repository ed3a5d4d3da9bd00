import type { RunId } from '../domain/job-run.ts';

/** Each item is counted once. */
export interface JobCounts {
  readonly done: number;
  /** Items that are not due, or cannot be processed yet. A later run retries them. */
  readonly left: number;
  readonly failed: number;
}

export interface JobItem<Thing> {
  readonly thing: Thing;
  /** Identifies the item in logs. It must not contain secrets. */
  readonly name: string;
  readonly after: string;
}

export interface JobPage<Thing> {
  /** In processing order. */
  readonly items: readonly JobItem<Thing>[];
  /** The cursor of the next page; absent after the last page. A page without items may have a next page. */
  readonly next?: string;
}

export interface JobRunContext {
  readonly runId: RunId;
  /** The scheduled time of the run, in Unix milliseconds. The run may be processed later. */
  readonly scheduledForMs: number;
}

/**
 * Work that a run processes item by item. After a crash, a worker reads the page again and may process items a second
 * time, which must have no further effect.
 */
export interface Job<Thing = unknown> {
  /**
   * Maximum number of items that are processed concurrently. Items begin in order but may finish in any order. @default
   * 1
   */
  readonly atOnce?: number;
  /** Changes nothing. @param cursor undefined at the beginning */
  page(cursor: string | undefined, limit: number, run: JobRunContext): Promise<JobPage<Thing>>;
  /**
   * Must be idempotent.
   *
   * @param deadlineMs Unix time in milliseconds at which an item that has several parts must stop; the remaining parts
   * are counted as `left`
   * @throws when the item failed; the item is counted as failed, and the run continues
   */
  handle(thing: Thing, run: JobRunContext & { readonly deadlineMs: number }): Promise<JobCounts>;
}

export const ONE_DONE: JobCounts = { done: 1, left: 0, failed: 0 };
export const ONE_LEFT: JobCounts = { done: 0, left: 1, failed: 0 };
