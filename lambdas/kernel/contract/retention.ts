import { REPLAY_HORIZON_DAYS } from './events.ts';

/*
 * How long the record of a completed operation is kept, by its scope. After that its key is refused (`idempotency_key_expired`), or the
 * chain refuses a second effect: nothing is executed again. Stacks check the setting `retention`, and functions read it.
 */

/** Hours. A scope without an entry has `default`. */
export const RETENTION_HOURS = {
  /** Scopes that services of the team name (`idempotent`). */
  default: 24,
  /** Payments, changes of payments, and orders, over HTTP or by an event: how long their answers are replayed. */
  payments: 7 * 24,
  /** Work that is redelivered or repeated: events, callbacks, and administrative requests. */
  events: 30 * 24,
} as const;

/** Hours of the scopes that deviate from {@link RETENTION_HOURS}. */
export type Retention = Readonly<Partial<Record<string, number>>>;

/** Hours. */
export function retentionHours(scope: string, set: Retention = {}): number {
  const hours: Retention = RETENTION_HOURS;
  return set[scope] ?? hours[scope] ?? set['default'] ?? RETENTION_HOURS.default;
}

/** Maximum time that SQS keeps a message (Amazon SQS developer guide, "Message quotas"). Days. */
export const QUEUE_DAYS = 14;

/**
 * Maximum time between the publication of an event and its last redelivery: from the archive or the Ledger, and then
 * from a queue. Hours.
 */
export const REDELIVERED_HOURS = (REPLAY_HORIZON_DAYS + QUEUE_DAYS) * 24;

/** Retention is extended by up to this share, so that records made together do not expire together. */
export const RETENTION_JITTER = 0.1;
