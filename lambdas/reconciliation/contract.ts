/** Metrics of reconciliation. Every run reports them as gauges, so alarms use the maximum, not the sum. */
export const BooksMetric = {
  /**
   * Number of confirmed mismatches between a processor and the Ledger. Reported at the end of every comparison, at
   * least hourly, including zero.
   */
  mismatches: 'mismatches',
} as const;

/** The value of the metric dimension `service`. */
export const BOOKS_SERVICE = 'books';
