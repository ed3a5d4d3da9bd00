/** Names of the event bus that both sides need. */

/** The `source` of everything that we put on the bus; the `detail-type` is the event's name, the `detail` a PayonceEvent as JSON. */
export const EVENT_SOURCE = 'payonce';

/** Metrics of the relay and of the consumers, as the functions count them and the stacks watch them. */
export const EventMetric = {
  /** Put on the bus. */
  published: 'event_published',
  /** Could not be put on the bus now; the Stream brings it again. */
  publishFailed: 'event_publish_failed',
  /** Took effect at a consumer. */
  consumed: 'event_consumed',
  /** Had taken effect before: delivered again. */
  consumedBefore: 'event_consumed_before',
  /** A consumer failed or was busy; the queue brings it again. */
  consumeFailed: 'event_consume_failed',
  /** Parked whole, with the reason: it cannot be read, or the bus refuses it. An operator must be alerted. */
  parked: 'event_parked',
  /** Of the parked records: rows of the Ledger that were changed or removed, which is never allowed. */
  tampered: 'ledger_tampered',
  /** Payments whose outcome was published as: a person must decide. */
  toReview: 'payment_to_review',
  /** Minutes that publishing again has had to pass over, because consumers forget what is older than the horizon. */
  beyondReach: 'event_minutes_beyond_reach',
  /** How old the oldest one of a batch was, from its transition. Milliseconds. */
  age: 'event_age',
} as const;

/** A consumer ends here, and its lease a little later. Seconds. */
export const CONSUMER_TIMEOUT_SECONDS = 30;

/** How long a consumer's claim keeps a redelivery out: longer than the function lives, far shorter than the queue waits. Seconds. */
export const CONSUMER_LEASE_SECONDS = 35;

/** How often a queue brings an event to a consumer before it is a dead letter. Three minutes apart. */
export const CONSUMER_TRIES = 5;

/**
 * The same for who writes letters. What became of a letter that nobody answered for can be told after a quarter of an hour:
 * ten minutes by which two workers' clocks may differ, and five by which the mailer's search may lag.
 */
export const LETTER_TRIES = 8;

/**
 * How far back events may be brought again, from the archive or from the Ledger. A message then lives two weeks at most, and
 * a consumer remembers an event for thirty days: what is brought again always finds its record. Days.
 */
export const REPLAY_HORIZON_DAYS = 14;
