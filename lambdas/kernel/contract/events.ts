/** Names on the event bus that functions and stacks share. */

/** The `source` of everything that we put on the bus; the `detail-type` is the event's name, the `detail` a PayonceEvent as JSON. */
export const EVENT_SOURCE = 'payonce';

/** Metrics of the relay and of the consumers, as the functions count them and the stacks watch them. */
export const EventMetric = {
  /** Put on the bus. */
  published: 'event_published',
  /** Could not be published now. The Stream redelivers it. */
  publishFailed: 'event_publish_failed',
  /** An event took effect at a consumer. */
  consumed: 'event_consumed',
  /** A redelivered event that had already taken effect. */
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

/**
 * Time for which a consumer's claim excludes a redelivery. Exceeds the function timeout, and is far shorter than the
 * wait of the queue. Seconds.
 */
export const CONSUMER_LEASE_SECONDS = 35;

/**
 * An event is parked after this many failures of a consumer, three minutes apart. An outage, a throttled function and a
 * rival's claim do not count as failures: the event waits.
 */
export const CONSUMER_TRIES = 5;

/** The delay before a failed message is retried; equal to the visibility timeout of its queue. Seconds. */
export const FAILED_AGAIN_SECONDS = 180;

/** The attribute of a message with the number of its failures. */
export const FAILURES = 'failures';

/**
 * Maximum age of an event that may be replayed from the archive or republished from the Ledger. A message then lives
 * for two weeks at most, and a consumer keeps its record for thirty days, so a replayed event always finds its record.
 * Days.
 */
export const REPLAY_HORIZON_DAYS = 14;
