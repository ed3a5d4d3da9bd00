import { REPLAY_HORIZON_DAYS } from './events.ts';

/*
 * Retention of the record of a completed operation, by scope. After the retention, the operation's idempotency key is
 * refused (`idempotency_key_expired`), or the chain refuses a second effect: Payonce executes nothing again. Only the
 * team's own services can execute an operation again, after its record was deleted. Stacks check the setting
 * `retention`, and functions read it.
 */

/** In hours. `default` applies to a scope without an entry. */
export const RETENTION_HOURS = {
  /**
   * Scopes of the team's own services. Those services can set another retention with `retentionHours` of `createOnce`.
   */
  default: 24,
  /**
   * Responses to payments, changes of payments, and orders can be replayed for this time, whether a request arrived
   * over HTTP or as an event.
   */
  payments: 7 * 24,
  /** Work that may be redelivered or retried: events, callbacks, and administrative requests. */
  events: 30 * 24,
} as const;

/** In hours, for the scopes whose retention differs from {@link RETENTION_HOURS}. */
export type Retention = Readonly<Partial<Record<string, number>>>;

export function retentionHours(scope: string, set: Retention = {}): number {
  const hours: Retention = RETENTION_HOURS;
  return set[scope] ?? hours[scope] ?? set['default'] ?? RETENTION_HOURS.default;
}

/** Maximum time that SQS keeps a message, in days (Amazon SQS developer guide, "Message quotas"). */
export const QUEUE_DAYS = 14;

/**
 * Maximum time between an event's publication and its last redelivery, in hours. In the worst case, the event is
 * replayed from the archive or the Ledger at the latest allowed time, and then waits in a queue for the maximum time.
 */
export const REDELIVERED_HOURS = (REPLAY_HORIZON_DAYS + QUEUE_DAYS) * 24;

/**
 * Maximum fraction by which a retention is extended, so that records that were created together do not expire together.
 */
export const RETENTION_JITTER = 0.1;
