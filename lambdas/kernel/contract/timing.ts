/*
 * Time limits that functions and stacks share, each with its reason. A request must end within the gateway's 29 s (AWS:
 * "Amazon API Gateway quotas", integration timeout of a REST API).
 */

/**
 * Maximum time until a client receives a response, in seconds. If the outcome is still unknown after this time, the
 * response is 202.
 */
export const REQUEST_BUDGET_SECONDS = 20;

/**
 * Seconds reserved at the end of {@link REQUEST_BUDGET_SECONDS} for the commit, its retries, and the copy of a
 * PostgreSQL commit to DynamoDB.
 */
export const COMMIT_SECONDS = 3;

/**
 * Timeout, in seconds, of the functions that make payments and of most other functions of the API. Shorter than the
 * lease, so that an owner has certainly stopped when its lease ends.
 */
export const PAYMENTS_TIMEOUT_SECONDS = 24;

/** Time, in seconds, for which a claim blocks other requests with its key. Must exceed the function timeout. */
export const LEASE_SECONDS = 25;

/**
 * Time after a claim, in seconds, within which its charge may be sent. Prevents a charge hours after the payer has left
 * the checkout.
 */
export const SEND_WINDOW_SECONDS = 15 * 60;

/** Maximum duration of a consumer's call (sending a receipt, with its retries), in seconds. */
export const RECEIPT_SECONDS = 20;

/** Time after which a webhook lane's loop starts no further request, in seconds. */
export const LANE_RUN_SECONDS = 15;

export const WEBHOOK_CALL_SECONDS = 10;

/** Time for claiming a message before its calls and committing it after them, including retries, in seconds. */
const AROUND_CALLS_SECONDS = 3;

/**
 * Maximum processing time of one message, in seconds, by function. An execution that processes a batch sequentially
 * begins a message only if this much time is left. Otherwise, the message in progress at the timeout would look like
 * the cause of the timeout. Each value is at least a second shorter than its function's timeout, so that the first
 * message always begins.
 */
export const LONGEST_MESSAGE_SECONDS = {
  paymentRequest: REQUEST_BUDGET_SECONDS + AROUND_CALLS_SECONDS,
  consumed: RECEIPT_SECONDS + AROUND_CALLS_SECONDS,
  webhookTask: LANE_RUN_SECONDS + WEBHOOK_CALL_SECONDS + AROUND_CALLS_SECONDS,
} as const;

/** Suffices for a read at the processor and a commit. Processors abandon a callback after 10 to 30 s. */
export const CALLBACKS_TIMEOUT_SECONDS = 20;

/** Time during which a redrive may begin calls, in seconds. */
export const REDRIVE_SECONDS = 240;

/**
 * All calls that the redrive began finish within this time. The dead letters stay hidden from other readers for one
 * more minute.
 */
export const REDRIVE_TIMEOUT_MINUTES = 5;

/** Covers ten concurrent calls of ten seconds, the reads and writes around them, and their retries. */
export const WEBHOOK_SENDER_TIMEOUT_SECONDS = 45;

/**
 * Time, in seconds, for which a queue redelivers a message before it is dead-lettered. A delivery to a throttled
 * function is counted like a failed delivery (AWS Lambda developer guide, "Using Lambda with Amazon SQS"), so a message
 * survives throttling, or an outage of a dependency, for at most this time.
 */
export const REDELIVERY_SECONDS = 6 * 60 * 60;

/**
 * Time, in milliseconds, after which work that waits in a queue raises an alarm. Longer than a retry takes, and far
 * shorter than {@link REDELIVERY_SECONDS}.
 */
export const LONGEST_WAIT_MS = 30 * 60_000;

/** @param hiddenSeconds the visibility timeout of the message's queue */
export function maxReceives(hiddenSeconds: number): number {
  return Math.ceil(REDELIVERY_SECONDS / hiddenSeconds);
}

/** Longer than the sandbox's slowest response takes, and longer than any caller waits. */
export const SANDBOX_TIMEOUT_SECONDS = 29;
