import type { OperationId } from '../../kernel/ids.ts';
import type { EffectRecord } from '../../once/domain/idempotency.ts';
import type { JobRun, RunId } from '../domain/job-run.ts';

/** Who may work at a job. The token grows with every taking: a holder that was taken over is known by it. */
export interface JobLock {
  /** The job's id, or the run's where runs may overlap. */
  readonly name: string;
  /** The run that it is held for. */
  readonly runId: RunId;
  /** The fencing token. */
  readonly token: number;
  readonly leaseExpiresAtMs: number;
}

/** The runs of jobs, and the locks under which they are worked at. */
export interface JobRunStore {
  /** Record and run in one transaction: accepted once, whoever asks. */
  accept(
    record: EffectRecord,
    run: JobRun,
  ): Promise<{ readonly kind: 'recorded' } | { readonly kind: 'recorded_before'; readonly record: EffectRecord }>;
  readAccepted(operationId: OperationId): Promise<EffectRecord | undefined>;
  /** Consistent. */
  readRun(jobId: string, runId: RunId): Promise<JobRun | undefined>;
  /** Newest scheduled time first. @param before only runs for earlier times; Unix milliseconds */
  listRuns(jobId: string, page: { readonly limit: number; readonly beforeMs?: number }): Promise<readonly JobRun[]>;
  /**
   * Takes the lock when nobody holds it, when its lease has ended, or when it is held for the same run: then with a new
   * token, so that of two workers of one run the later one goes on.
   *
   * @returns undefined when another run holds it
   */
  lock(
    name: string,
    runId: RunId,
    times: { readonly nowMs: number; readonly leaseExpiresAtMs: number },
  ): Promise<JobLock | undefined>;
  /**
   * Replaces the run as it was read (`version - 1`), only while the lock is held with this token; lengthens its lease, or
   * gives it back when the run has ended.
   *
   * @returns false when another has it now, or the run has changed
   */
  save(run: JobRun, lock: JobLock, leaseExpiresAtMs: number): Promise<boolean>;
}

/** Brings a run to its worker. Delivered at least once. */
export interface JobTasks {
  /** @param delaySeconds 0 to 900 */
  enqueue(run: Pick<JobRun, 'jobId' | 'runId'>, delaySeconds: number): Promise<void>;
}
