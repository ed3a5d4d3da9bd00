/**
 * What waits to be finished: states, told again whenever the queues are read, which is every minute. Their statistic is the
 * maximum. Where more waits than is read at once, they are less than the truth.
 */
export const BacklogMetric = {
  /** Open claims that nobody works on: their lease has ended, or they were released and nobody may send any more. */
  openClaims: 'open_claims',
  /** How long ago the oldest of them was claimed; 0 when there is none. Milliseconds. */
  oldestClaim: 'oldest_open_claim',
  /** Payments and changes that were answered "not known yet", and of which nothing is known since. Those that wait for their payer are not among them. */
  unknownOutcomes: 'unknown_outcomes',
  /** How long ago the oldest of them was claimed; 0 when there is none. Milliseconds. */
  oldestUnknown: 'oldest_unknown_outcome',
} as const;

export type BacklogMetricName = (typeof BacklogMetric)[keyof typeof BacklogMetric];

/** Whoever reads the queues: the value of the dimension `service`. */
export const BACKLOG_SERVICE = 'backlog';
