/** Metrics of reconciliation. They are gauges that every run reports, so alarms use the maximum, not the sum. */
export const BooksMetric = {
  /**
   * Confirmed mismatches between a processor and the Ledger. Reported at the end of every comparison, at least hourly,
   * also when zero.
   */
  mismatches: 'mismatches',
} as const;

/** The value of the metric dimension `service`. */
export const BOOKS_SERVICE = 'books';
