/** Names of the event bus that both sides need. */

/** The `source` of everything that we put on the bus; the `detail-type` is the event's name, the `detail` a PayonceEvent as JSON. */
export const EVENT_SOURCE = 'payonce';

/** Metrics of the relay and of the consumers, as the functions count them and the stacks watch them. */
export const EventMetric = {
  /** Put on the bus. */
  published: 'event_published',
  /** Could not be published now. The Stream redelivers it. */
  publishFailed: 'event_publish_failed',
  /** Took effect at a consumer. */
  consumed: 'event_consumed',
  /** A redelivery: it had taken effect before. */
  consumedBefore: 'event_consumed_before',
  /** A consumer failed or was busy. The queue redelivers it. */
  consumeFailed: 'event_consume_failed',
  /** Parked as a complete record with the reason, because it cannot be read or the bus refuses it. Raises an alarm. */
  parked: 'event_parked',
  /** Parked records of Ledger rows that were changed or removed. */
  tampered: 'ledger_tampered',
  /** Payments that went into review. */
  toReview: 'payment_to_review',
  /** Minutes that were not republished, because consumers no longer have the records of events that old. */
  beyondReach: 'event_minutes_beyond_reach',
  /** Age of the oldest event of a batch, from its transition. Milliseconds. */
  age: 'event_age',
} as const;

/** Timeout of a consumer; its lease ends a little later. Seconds. */
export const CONSUMER_TIMEOUT_SECONDS = 30;

/** How long a consumer's claim excludes a redelivery: longer than the function runs, and far shorter than the queue waits. Seconds. */
export const CONSUMER_LEASE_SECONDS = 35;

/**
 * An event is parked after a consumer has failed at it this often, three minutes apart. An outage, a throttled function and a rival's
 * claim do not count as failures: the event waits.
 */
export const CONSUMER_TRIES = 5;

/** The wait of a message that failed: as long as one is hidden that is delivered again by its queue. Seconds. */
export const FAILED_AGAIN_SECONDS = 180;

/** The attribute of a message with the number of its failures. */
export const FAILURES = 'failures';

/**
 * How far back events may be brought again, from the archive or from the Ledger. A message then lives two weeks at most, and
 * a consumer remembers an event for thirty days: what is brought again always finds its record. Days.
 */
export const REPLAY_HORIZON_DAYS = 14;
