import * as z from 'zod';

/** The copies of one event are sent concurrently. */
export const MAX_COPIES = 10;

const deliverTask = z.strictObject({
  kind: z.literal('deliver'),
  eventId: z.string(),
  /** Begins with 1. */
  attempt: z.int().positive(),
  copies: z.int().min(1).max(MAX_COPIES),
  /** If true, the event is sent even if it was already delivered. */
  again: z.boolean(),
  /** This event must be sent after the event of the task. */
  thenEventId: z.string().nullable(),
});

const advanceTask = z.strictObject({
  kind: z.literal('advance'),
  chargeId: z.string(),
  to: z.enum(['succeed', 'succeed_short', 'decline', 'dispute', 'succeed_refund', 'fail_refund']),
  attempt: z.int().positive(),
  /** Identifies the dispute to open, or the refund to complete or fail. A redelivered task has the same id. */
  partId: z.string().nullable(),
  /** This earlier event must be sent after the event of the step. */
  heldEventId: z.string().nullable(),
});

export const task = z.discriminatedUnion('kind', [deliverTask, advanceTask]);

export type DeliverTask = z.output<typeof deliverTask>;
export type AdvanceTask = z.output<typeof advanceTask>;
export type Task = z.output<typeof task>;

export function delivery(eventId: string, changes: Partial<Omit<DeliverTask, 'kind'>> = {}): DeliverTask {
  return { kind: 'deliver', eventId, attempt: 1, copies: 1, again: false, thenEventId: null, ...changes };
}

/** A limit of SQS (Amazon SQS, "Delay queues"). */
const LONGEST_WAIT_SECONDS = 900;

export function waitSeconds(failedAttempt: number): number {
  return Math.min(2 ** (failedAttempt - 1), LONGEST_WAIT_SECONDS);
}

/**
 * A task is enqueued before the transaction that writes its charge or event, so that a crash in between loses no task.
 * The waits add up to more than the function's timeout (SANDBOX_TIMEOUT_SECONDS), so a row that is still missing was
 * never committed.
 */
export const MAX_TASK_ATTEMPTS = 6;
