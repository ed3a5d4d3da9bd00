import type { ActivityDraft } from '../../activity/domain/activity.ts';
import type { OperationId } from '../../kernel/ids.ts';
import type { EffectRecord } from '../../once/domain/idempotency.ts';
import type { JobRun, RunId } from '../domain/job-run.ts';

/**
 * Lock that lets only one run of a job execute at a time. Its token grows with every acquisition, and fences earlier
 * owners.
 */
export interface JobLock {
  /** The job's id, or the run's id for a job whose runs may overlap. */
  readonly name: string;
  readonly runId: RunId;
  readonly token: number;
  readonly leaseExpiresAtMs: number;
}

export type AcceptOutcome =
  | { readonly kind: 'recorded' }
  | { readonly kind: 'recorded_before'; readonly record: EffectRecord }
  /** A rival has appended to the activity log. Nothing was written. */
  | { readonly kind: 'changed' };

export interface RunsPage {
  readonly limit: number;
  /** Inclusive. */
  readonly fromMs?: number;
  /** Exclusive. */
  readonly beforeMs?: number;
}

export interface JobRunStore {
  /**
   * An existing run stays unchanged.
   *
   * @param activity the activity log entry; set only when an operator requested the run
   */
  accept(record: EffectRecord, run: JobRun, activity?: ActivityDraft): Promise<AcceptOutcome>;
  readAccepted(operationId: OperationId): Promise<EffectRecord | undefined>;
  readRun(jobId: string, runId: RunId): Promise<JobRun | undefined>;
  /** Newest scheduled time first. */
  listRuns(jobId: string, page: RunsPage): Promise<readonly JobRun[]>;
  /**
   * Acquires the lock if it is free, if its lease has expired, or if the same run already holds it. Every acquisition
   * issues a new token. If two workers process one run, only the one that acquired the lock last can continue.
   *
   * @returns undefined when another run holds the lock
   */
  lock(
    name: string,
    runId: RunId,
    times: { readonly nowMs: number; readonly leaseExpiresAtMs: number },
  ): Promise<JobLock | undefined>;
  /**
   * Replaces version `run.version - 1` of the run if the lock still has this token. Extends the lease, or releases the
   * lock when the run has ended.
   *
   * @returns false when a rival holds the lock, or the run has changed
   */
  save(run: JobRun, lock: JobLock, leaseExpiresAtMs: number): Promise<boolean>;
}

/** Delivery is at least once. */
export interface JobTasks {
  /** @param delaySeconds 0 to 900 */
  enqueue(run: Pick<JobRun, 'jobId' | 'runId' | 'version'>, delaySeconds: number): Promise<void>;
}
