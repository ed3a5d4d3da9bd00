import * as z from 'zod';

/** At most so many of one event go out at once. */
export const MAX_COPIES = 10;

/** An event to post. */
const deliverTask = z.strictObject({
  kind: z.literal('deliver'),
  eventId: z.string(),
  /** 1 for the first. */
  attempt: z.int().positive(),
  /** How many go out at once. */
  copies: z.int().min(1).max(MAX_COPIES),
  /** Sent even if an earlier delivery was taken: somebody asked for it once more. */
  again: z.boolean(),
  /** The event that must not go out before this one. */
  thenEventId: z.string().nullable(),
});

/** A charge that goes on by itself. */
const advanceTask = z.strictObject({
  kind: z.literal('advance'),
  chargeId: z.string(),
  to: z.enum(['succeed', 'decline', 'dispute']),
  attempt: z.int().positive(),
  /** The id of the dispute to open: the same however often the task is delivered. */
  disputeId: z.string().nullable(),
  /** An event that was held back, to go out after the one that this step makes. */
  heldEventId: z.string().nullable(),
});

export const task = z.discriminatedUnion('kind', [deliverTask, advanceTask]);

export type DeliverTask = z.output<typeof deliverTask>;
export type AdvanceTask = z.output<typeof advanceTask>;
export type Task = z.output<typeof task>;

/** The first delivery of an event. */
export function delivery(eventId: string, changes: Partial<Omit<DeliverTask, 'kind'>> = {}): DeliverTask {
  return { kind: 'deliver', eventId, attempt: 1, copies: 1, again: false, thenEventId: null, ...changes };
}

/** An SQS message can wait no longer (Amazon SQS, "Delay queues"). */
const LONGEST_WAIT_SECONDS = 900;

/** The wait after a failed attempt: 1, 2, 4, 8 … seconds. */
export function waitSeconds(failedAttempt: number): number {
  return Math.min(2 ** (failedAttempt - 1), LONGEST_WAIT_SECONDS);
}

/**
 * A task is on the queue before the transaction that makes what it is about, so that a process that dies between the two
 * loses nothing. What is not there yet is looked for again: the waits after six attempts add up to more than a function
 * lives (SANDBOX_TIMEOUT_SECONDS). What is not there then was never committed.
 */
export const MAX_LOOKS = 6;
