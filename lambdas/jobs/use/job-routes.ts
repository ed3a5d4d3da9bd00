import type { Scope } from '../../kernel/contract/api.ts';
import type { CallLimit } from '../../kernel/world.ts';
import type { RunId } from '../domain/job-run.ts';

interface RunRequest {
  readonly runId: RunId;
  /** The job's admin route. */
  readonly path: string;
  /** What the credential may do that goes with the request. */
  readonly scopes: readonly Scope[];
  /** Unix milliseconds, whole seconds. */
  readonly scheduledForMs: number;
}

/** The admin routes of jobs, as the executor sees them. */
export interface JobRoutes {
  /**
   * Asks for a run, under its run-id as the idempotency key, once: whoever wants it asked again calls again.
   *
   * @throws RetryableError, AmbiguousError or TerminalError when it was not accepted, or nobody knows
   */
  ask(request: RunRequest, limit: CallLimit): Promise<void>;
}
