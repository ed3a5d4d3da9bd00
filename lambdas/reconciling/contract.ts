/**
 * Metrics of reconciliation and of expired records. They are gauges that every run reports again, so alarms use the maximum,
 * not the sum.
 */
export const BooksMetric = {
  /**
   * Confirmed mismatches between a processor and the Ledger. Reported at the end of every comparison, at least hourly, also
   * when zero.
   */
  mismatches: 'mismatches',
  /** Tables whose time to live is off or has left too many expired records. Reported every night, also when zero. */
  ttlNotWorking: 'ttl_not_working',
  /** Records that time to live left for days after their expiry. Reported every night. */
  expiredLeft: 'expired_left',
} as const;

/** The value of the dimension `service`. */
export const BOOKS_SERVICE = 'books';
