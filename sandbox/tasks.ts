import * as z from 'zod';

/** Maximum number of copies of one event that are sent concurrently. */
export const MAX_COPIES = 10;

const deliverTask = z.strictObject({
  kind: z.literal('deliver'),
  eventId: z.string(),
  /** Number of the attempt, beginning with 1. */
  attempt: z.int().positive(),
  /** Number of copies to send concurrently. */
  copies: z.int().min(1).max(MAX_COPIES),
  /** True if a resend was requested: the event is then sent even if it was already delivered. */
  again: z.boolean(),
  /** The id of an event that must be sent after this event; null if there is none. */
  thenEventId: z.string().nullable(),
});

/** A task that changes a charge without a request. */
const advanceTask = z.strictObject({
  kind: z.literal('advance'),
  chargeId: z.string(),
  to: z.enum(['succeed', 'succeed_short', 'decline', 'dispute', 'succeed_refund', 'fail_refund']),
  attempt: z.int().positive(),
  /**
   * The id of the dispute to open, or of the refund to complete or fail; null for any other step. A redelivered task
   * has the same id.
   */
  partId: z.string().nullable(),
  /** The id of an earlier event that must be sent after this step's event; null if there is none. */
  heldEventId: z.string().nullable(),
});

export const task = z.discriminatedUnion('kind', [deliverTask, advanceTask]);

export type DeliverTask = z.output<typeof deliverTask>;
export type AdvanceTask = z.output<typeof advanceTask>;
export type Task = z.output<typeof task>;

/** Creates the task for the first delivery of an event. */
export function delivery(eventId: string, changes: Partial<Omit<DeliverTask, 'kind'>> = {}): DeliverTask {
  return { kind: 'deliver', eventId, attempt: 1, copies: 1, again: false, thenEventId: null, ...changes };
}

/** The maximum delay of an SQS message (Amazon SQS, "Delay queues"). */
const LONGEST_WAIT_SECONDS = 900;

/** Returns the wait after a failed attempt: 1, 2, 4, 8 … seconds, at most 900. */
export function waitSeconds(failedAttempt: number): number {
  return Math.min(2 ** (failedAttempt - 1), LONGEST_WAIT_SECONDS);
}

/**
 * Maximum number of attempts to find the charge or event of a task. A task is enqueued before the transaction that
 * writes its charge or event, so that a crash in between loses no task. If the row is missing, the task is retried. The
 * waits add up to more than the function's timeout (SANDBOX_TIMEOUT_SECONDS), so a row that is still missing was never
 * committed.
 */
export const MAX_TASK_ATTEMPTS = 6;
