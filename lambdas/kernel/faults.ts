/*
 * Faults are failures of the environment. Mostly adapters throw them. The class of a fault states whether the call may
 * have been applied; its `code` identifies the fault. Expected outcomes (a decline, a rejected condition) are returned,
 * never thrown.
 */

interface FaultOptions {
  readonly cause?: unknown;
  /** The time after which a retry may succeed, in seconds. */
  readonly retryAfterSeconds?: number;
}

abstract class Fault extends Error {
  /** Stable and machine-readable, for example `store_throttled`. */
  readonly code: string;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: string, message: string, options: FaultOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** Nothing was applied. The same call can be retried. */
export class RetryableError extends Fault {
  override readonly name = 'RetryableError';
}

/** The call was not made, because an earlier check failed after its own retries. The store must not retry the call. */
export class NotBegunError extends RetryableError {}

/**
 * Code of the error when the settings of the deployment name a database that does not contain the deployment's
 * payments.
 */
export const AUTHORITY_CHANGED = 'authority_changed';

/** Code of the error when the deployment does not call the payment's processor. Callers see the message. */
export const PROCESSOR_ELSEWHERE = 'processor_elsewhere';

/**
 * The call may have been applied. Look up its effect by Payonce's own idempotency key before acting. Never retry the
 * call blindly or treat it as failed.
 */
export class AmbiguousError extends Fault {
  override readonly name = 'AmbiguousError';
}

/** A retry cannot succeed: park the work and raise an alarm. */
export class TerminalError extends Fault {
  override readonly name = 'TerminalError';
}

/** Returns whether the error is a failure of the environment rather than a bug in this program. */
export function isFault(error: unknown): error is RetryableError | AmbiguousError | TerminalError {
  return error instanceof Fault;
}

/** Log this and never the message, which may contain client data. */
export function codeOf(error: unknown): string {
  if (isFault(error)) return error.code;
  return error instanceof Error ? error.name : typeof error;
}
