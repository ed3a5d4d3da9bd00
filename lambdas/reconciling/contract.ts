/**
 * What is known of the books, and of the rows that end by themselves: states, told again by every run, not events that add
 * up. Their statistic is the maximum.
 */
export const BooksMetric = {
  /**
   * Differences between a processor and the Ledger that were still there at a second look. Told at the end of every
   * comparison, which is every hour at least, also when there are none.
   */
  mismatches: 'mismatches',
  /** Tables in which time to live is off, or has left too much. Told every night, also when it works in all. */
  ttlNotWorking: 'ttl_not_working',
  /** Expired records that time to live had left for days, and that were deleted. Told every night. */
  expiredLeft: 'expired_left',
} as const;

/** Whoever counts them: the value of the dimension `service`. */
export const BOOKS_SERVICE = 'books';
