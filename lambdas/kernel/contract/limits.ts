/** A request body beyond this is refused with 413 before it is parsed or hashed. Bytes. */
export const MAX_BODY_BYTES = 32 * 1024;

/** A callback beyond this is refused with 413 before its signature is computed. Processors' events are far smaller. Bytes. */
export const MAX_CALLBACK_BYTES = 256 * 1024;

/** Requests of one kind by one tenant in one mode. */
export interface RateLimit {
  /** Requests per second, a positive whole number. */
  readonly rate: number;
  /** Requests at once after a pause, a positive whole number. */
  readonly burst: number;
}

/** The highest rate and burst, as for the settings of the deployment. */
export const HIGHEST_LIMIT = 10_000;

/** Requests of one tenant and mode that may wait for another one at the same time (`Prefer: wait`). */
export const MAX_WAITS = 10;
