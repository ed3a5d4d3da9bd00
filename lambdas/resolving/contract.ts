/**
 * Metrics of unfinished work. They are gauges: each run of the job `resolve`, once a minute, reports the current
 * values, so alarms must use the maximum. If a queue is longer than one read, the values are lower bounds.
 */
export const BacklogMetric = {
  /**
   * Number of open claims without an active owner: either the lease has expired, or the claim was released and its send
   * window has closed.
   */
  openClaims: 'open_claims',
  /** Age of the oldest claim that `openClaims` counts, in milliseconds; 0 if there is none. */
  oldestClaim: 'oldest_open_claim',
  /**
   * Number of inquiries about unknown outcomes. Such an inquiry is about a payment or a change that was answered with
   * 202, or about a payment whose charges must all be read. An inquiry that waits for a payer or a bank is counted only
   * if it also waits for an operator.
   */
  unknownOutcomes: 'unknown_outcomes',
  /**
   * Age of the oldest inquiry that `unknownOutcomes` counts, since its `claimedAtMs`, in milliseconds; 0 if there is
   * none.
   */
  oldestUnknown: 'oldest_unknown_outcome',
} as const;

export type BacklogMetricName = (typeof BacklogMetric)[keyof typeof BacklogMetric];

/** The value of the metric dimension `service`. */
export const BACKLOG_SERVICE = 'backlog';
