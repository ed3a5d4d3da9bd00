/**
 * Faults: the world failed. Thrown by adapters only, classed by what may have happened, recognised by `code`.
 * Outcomes that are expected (a decline, a refused condition) are returned, never thrown.
 */

interface FaultOptions {
  readonly cause?: unknown;
  /** When trying again may help, in seconds. */
  readonly retryAfterSeconds?: number;
}

abstract class Fault extends Error {
  /** Stable and machine readable, for example `store_throttled`. */
  readonly code: string;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: string, message: string, options: FaultOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** Nothing was applied: the same call may be made again. */
export class RetryableError extends Fault {
  override readonly name = 'RetryableError';
}

/** It may have been applied: look it up by our own key before acting; never retry blindly, never call it failed. */
export class AmbiguousError extends Fault {
  override readonly name = 'AmbiguousError';
}

/** Trying again cannot help: set it aside and raise an alarm. */
export class TerminalError extends Fault {
  override readonly name = 'TerminalError';
}

/** Whether the world failed, and not this program. */
export function isFault(error: unknown): error is RetryableError | AmbiguousError | TerminalError {
  return error instanceof Fault;
}
