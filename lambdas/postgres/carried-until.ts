/**
 * Longest time from the creation time of a row to its commit, in milliseconds: the maximum timeout of a Lambda function
 * (AWS Lambda developer guide, "Lambda quotas": 900 seconds), plus a minute for a statement that the server is still
 * executing.
 */
export const LONGEST_TRANSACTION_MS = 16 * 60_000;

/** Largest difference between the clocks of two functions, in milliseconds. Each may be wrong by five minutes. */
export const CLOCK_DIFFERENCE_MS = 10 * 60_000;

export interface OutboxReading {
  /**
   * Creation time of the oldest row of the outbox, except rows of stopped chains, in Unix milliseconds; undefined when
   * there is none.
   */
  readonly oldestMs: number | undefined;
  /**
   * Time at which the read of the outbox began, in Unix milliseconds. With a later time, rows that were written during
   * the read would wrongly count as copied.
   */
  readonly beforeReadMs: number;
}

/**
 * Returns the time before which the copies are complete: every transition that was created earlier is in the Ledger,
 * unless its chain is stopped. Jobs that compare the Ledger with other books rely on the Ledger only up to this time. A
 * stopped chain does not hold back this time. Otherwise, the comparisons of all tenants would wait until an operator
 * has repaired the chain.
 *
 * A row that was not read was committed after the read, so it was created at most `LONGEST_TRANSACTION_MS` before the
 * read. The creation time of the newest copied row does not show that all earlier rows are copied, because rows can
 * commit late:
 *
 *   row A  ── created 12:00 ─────────────────────── commit ── copy
 *   row B  ───────── created 12:01 ── commit ── copy
 *   reading                                           ↑ the outbox is empty, and A is not copied
 */
export function carriedUntilMs({ oldestMs = Number.POSITIVE_INFINITY, beforeReadMs }: OutboxReading): number {
  return Math.min(oldestMs, beforeReadMs) - LONGEST_TRANSACTION_MS - CLOCK_DIFFERENCE_MS;
}
