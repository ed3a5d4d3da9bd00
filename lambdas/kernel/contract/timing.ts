/**
 * The limits in time that both sides need, each with its reason. A request's whole life fits into the gateway's 29 s
 * (AWS: "Amazon API Gateway quotas", integration timeout of a REST API).
 */

/** A client is answered within this time; what is not known by then is committed as 202. Seconds. */
export const REQUEST_BUDGET_SECONDS = 20;

/** The function is ended here, so that an owner is provably gone when its lease runs out. Seconds. */
export const PAYMENTS_TIMEOUT_SECONDS = 24;

/** How long a claim keeps rivals out. Longer than the function lives; seconds. */
export const LEASE_SECONDS = 25;

/** Processors give up on a callback after 10 to 30 s; a read at the processor and a commit fit in. Seconds. */
export const CALLBACKS_TIMEOUT_SECONDS = 20;

/** How long a redrive begins to make calls again. Seconds. */
export const REDRIVE_SECONDS = 240;

/** What is under way at the end of a redrive ends within. Letters are hidden from others for a minute longer. Minutes. */
export const REDRIVE_TIMEOUT_MINUTES = 5;

/** A call of ten seconds, what is read and written around it with its retries, and ten of them at once. Seconds. */
export const WEBHOOK_SENDER_TIMEOUT_SECONDS = 45;

/** The sandbox must outlive its slowest answer, which is longer than a caller waits. Seconds. */
export const SANDBOX_TIMEOUT_SECONDS = 29;
