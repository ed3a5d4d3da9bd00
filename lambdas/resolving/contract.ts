/**
 * Metrics of unfinished work. They are gauges that are reported at every read of the queues, each minute, so alarms use
 * the maximum. If a queue is longer than one read, the metrics are lower bounds.
 */
export const BacklogMetric = {
  /**
   * Number of open claims without an active owner: the lease has ended, or the claim was released and its send window
   * is over.
   */
  openClaims: 'open_claims',
  /** Age of the oldest open claim, in milliseconds; 0 when there is none. */
  oldestClaim: 'oldest_open_claim',
  /**
   * Number of payments and changes that were answered 202 and whose outcome is still unknown. Payments and changes that
   * wait for a payer or a bank are not counted, unless they also wait for an operator.
   */
  unknownOutcomes: 'unknown_outcomes',
  /** Time since the claim of the oldest unknown outcome, in milliseconds; 0 when there is none. */
  oldestUnknown: 'oldest_unknown_outcome',
} as const;

export type BacklogMetricName = (typeof BacklogMetric)[keyof typeof BacklogMetric];

/** The value of the metric dimension `service`. */
export const BACKLOG_SERVICE = 'backlog';
