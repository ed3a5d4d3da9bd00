/**
 * The `source` of every Payonce event on the bus. The `detail-type` is the event's name, and the `detail` is a
 * PayonceEvent as JSON.
 */
export const EVENT_SOURCE = 'payonce';

export const EventMetric = {
  published: 'event_published',
  /**
   * Attempts in which the relay could not publish a whole batch. The relay or Lambda retries the remaining records, or
   * a job republishes their events.
   */
  publishFailed: 'event_publish_failed',
  /** Events that took effect at a consumer. */
  consumed: 'event_consumed',
  consumedBefore: 'event_consumed_before',
  /** Deliveries for which a consumer failed or was busy; the queue redelivers the event. */
  consumeFailed: 'event_consume_failed',
  /**
   * Records and messages that could not be published or consumed, and were parked with their complete content and the
   * reason, for example an unreadable record, an event that the bus refused, or a bug. Raises an alarm.
   */
  parked: 'event_parked',
  /** Parked records of Ledger rows that were changed or removed. */
  tampered: 'ledger_tampered',
  toReview: 'payment_to_review',
  /**
   * Length, in minutes, of a time range whose events were not republished, because consumers no longer keep the records
   * that deduplicate such old events.
   */
  beyondReach: 'event_minutes_beyond_reach',
  /** Age of the oldest event in a batch, in milliseconds since its transition. */
  age: 'event_age',
} as const;

/** Timeout of a consumer, in seconds. The lease of its claim is longer ({@link CONSUMER_LEASE_SECONDS}). */
export const CONSUMER_TIMEOUT_SECONDS = 30;

/**
 * Time, in seconds, for which a consumer's claim blocks a redelivery. Exceeds the function timeout, and is far shorter
 * than the retry delay of the queue.
 */
export const CONSUMER_LEASE_SECONDS = 35;

/**
 * Number of failures, at intervals of three minutes, after which a consumer parks an event. Outages, throttled
 * functions and rivals' claims are not counted as failures: the event waits instead.
 */
export const CONSUMER_ATTEMPTS = 5;

/** The delay before a failed message is retried, in seconds; equal to the visibility timeout of its queue. */
export const RETRY_DELAY_SECONDS = 180;

/** Message attribute with the number of failed attempts to process the message. */
export const FAILURES_ATTRIBUTE = 'failures';

/**
 * Maximum age, in days, of an event that may be replayed from the archive or republished from the Ledger. The message
 * then stays in a queue for at most two more weeks, so the event is at most 28 days old when it is processed. A
 * consumer keeps the event's record for thirty days, so the record still exists at that time.
 */
export const REPLAY_HORIZON_DAYS = 14;
