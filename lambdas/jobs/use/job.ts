/** What has come of some of a job's work; each thing counts once. */
export interface JobCounts {
  readonly done: number;
  /** Looked at, and not due or not possible yet: a later run has it again. */
  readonly left: number;
  /** Went wrong, was reported, and is tried again by a later run. */
  readonly failed: number;
}

/** One thing to do, and where a run that has done it goes on. */
export interface JobItem<Thing> {
  readonly thing: Thing;
  /** What tells it from others in a log; no secret. */
  readonly name: string;
  /** Continues behind this item. */
  readonly after: string;
}

export interface JobPage<Thing> {
  /** In the order in which they are done. */
  readonly items: readonly JobItem<Thing>[];
  /** Where to go on behind the page, when its items are not the last; a page may have no items and yet go on. */
  readonly next?: string;
}

export interface JobRunContext {
  /** The time that the run is for, not the time at which it happens to come. Unix milliseconds. */
  readonly scheduledForMs: number;
}

/**
 * Work that a run does piece by piece. A page is only read: whoever reads it again, after a crash, finds what is left, and
 * what was done already is done once more without effect.
 */
export interface Job<Thing = unknown> {
  /** How many items may be done side by side; they are then begun in their order, and end in any. @default 1 */
  readonly atOnce?: number;
  /** Reads what comes next and does nothing to it. @param cursor undefined at the beginning @param limit items at most */
  page(cursor: string | undefined, limit: number, run: JobRunContext): Promise<JobPage<Thing>>;
  /**
   * Does it. Takes effect once, however often it is called.
   *
   * @param deadlineMs when to stop and to count the rest as left, for things that are many in one. Unix milliseconds
   * @throws when it went wrong: it counts as failed, and the rest goes on
   */
  handle(thing: Thing, run: JobRunContext & { readonly deadlineMs: number }): Promise<JobCounts>;
}

export const ONE_DONE: JobCounts = { done: 1, left: 0, failed: 0 };
export const ONE_LEFT: JobCounts = { done: 0, left: 1, failed: 0 };
