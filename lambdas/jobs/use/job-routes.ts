import type { CallLimit } from '../../kernel/world.ts';
import type { RunId } from '../domain/job-run.ts';

interface RunRequest {
  readonly runId: RunId;
  /** The job's admin route. */
  readonly path: string;
  /** The scopes of the credential. */
  readonly scopes: readonly string[];
  /** Unix milliseconds, whole seconds. */
  readonly scheduledForMs: number;
}

/** The admin routes of jobs, as the executor sees them. */
export interface JobRoutes {
  /**
   * Requests a run with one call, with the run-id as the idempotency key. Does not retry.
   *
   * @throws RetryableError, AmbiguousError or TerminalError when the run was not accepted, or its acceptance is unknown
   */
  ask(request: RunRequest, limit: CallLimit): Promise<void>;
}
