/** A larger body is refused with 413 before it is parsed or hashed. */
export const MAX_BODY_BYTES = 32 * 1024;

/** A larger callback is refused with 413 before its signature is computed. Processors' events are far smaller. */
export const MAX_CALLBACK_BYTES = 256 * 1024;

/** Limit on requests of one kind, per tenant and mode. */
export interface RateLimit {
  /** Requests per second, a positive whole number. */
  readonly rate: number;
  /** Maximum number of requests that may arrive at the same time after a pause, a positive whole number. */
  readonly burst: number;
}

/** Equal to the maximum in the deployment's settings. */
export const HIGHEST_LIMIT = 10_000;

/**
 * Maximum number of requests per tenant and mode that may wait at the same time (`Prefer: wait`). Each waits for the
 * response to an earlier request with its idempotency key.
 */
export const MAX_WAITS = 10;
