import type { CallLimit } from '../../kernel/world.ts';
import type { RunId } from '../domain/job-run.ts';

interface RunRequest {
  readonly runId: RunId;
  /** Path of the job's admin route. */
  readonly path: string;
  /** Scopes of the executor's credential for this request. */
  readonly scopes: readonly string[];
  /** Scheduled time in Unix milliseconds, a whole second. */
  readonly scheduledForMs: number;
}

/** Calls the jobs' admin routes for the executor. */
export interface JobRoutes {
  /**
   * Sends one request for a run, with the run-id as the idempotency key. Does not retry.
   *
   * @throws RetryableError, AmbiguousError or TerminalError when the run was not accepted, or its acceptance is unknown
   */
  ask(request: RunRequest, limit: CallLimit): Promise<void>;
}
