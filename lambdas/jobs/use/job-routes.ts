import type { CallLimit } from '../../kernel/world.ts';
import type { RunId } from '../domain/job-run.ts';

interface RunRequest {
  readonly runId: RunId;
  readonly path: string;
  readonly scopes: readonly string[];
  /** Scheduled time in Unix milliseconds, a whole second. */
  readonly scheduledForMs: number;
}

export interface JobRoutes {
  /**
   * @throws RetryableError, AmbiguousError or TerminalError when the run was not accepted, or its acceptance is unknown
   */
  ask(request: RunRequest, limit: CallLimit): Promise<void>;
}
