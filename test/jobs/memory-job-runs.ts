import { isEnded, type JobRun, type RunId } from '../../lambdas/jobs/domain/job-run.ts';
import type { JobLock, JobRunStore } from '../../lambdas/jobs/use/job-runs.ts';
import type { OperationId } from '../../lambdas/kernel/ids.ts';
import type { EffectRecord } from '../../lambdas/once/domain/idempotency.ts';

type Times = Parameters<JobRunStore['lock']>[2];

/** Runs and their locks in memory, for simulations: every call is one atomic step, as a DynamoDB transaction is. Passes the same contract suite. */
export class MemoryJobRuns implements JobRunStore {
  readonly #records = new Map<OperationId, EffectRecord>();
  readonly #runs = new Map<RunId, JobRun>();
  readonly #locks = new Map<string, JobLock>();

  async accept(record: EffectRecord, run: JobRun): ReturnType<JobRunStore['accept']> {
    const existing = this.#records.get(record.operationId);
    if (existing !== undefined) {
      return existing.owner === record.owner ? { kind: 'recorded' } : { kind: 'recorded_before', record: existing };
    }
    this.#records.set(record.operationId, record);
    if (!this.#runs.has(run.runId)) this.#runs.set(run.runId, run);
    return { kind: 'recorded' };
  }

  async readAccepted(operationId: OperationId): Promise<EffectRecord | undefined> {
    return this.#records.get(operationId);
  }

  async readRun(jobId: string, runId: RunId): Promise<JobRun | undefined> {
    const found = this.#runs.get(runId);
    return found?.jobId === jobId ? found : undefined;
  }

  async listRuns(
    jobId: string,
    { limit, beforeMs = Number.POSITIVE_INFINITY }: Parameters<JobRunStore['listRuns']>[1],
  ): Promise<readonly JobRun[]> {
    return [...this.#runs.values()]
      .filter((run) => run.jobId === jobId && run.scheduledForMs < beforeMs)
      .sort((left, right) => right.scheduledForMs - left.scheduledForMs)
      .slice(0, limit);
  }

  async lock(name: string, runId: RunId, { nowMs, leaseExpiresAtMs }: Times): Promise<JobLock | undefined> {
    const found = this.#locks.get(name);
    if (found !== undefined && found.runId !== runId && found.leaseExpiresAtMs > nowMs) return undefined;
    const lock = { name, runId, token: (found?.token ?? 0) + 1, leaseExpiresAtMs };
    this.#locks.set(name, lock);
    return lock;
  }

  async save(run: JobRun, { name, token }: JobLock, leaseExpiresAtMs: number): Promise<boolean> {
    const held = this.#locks.get(name);
    if (held?.token !== token || this.#runs.get(run.runId)?.version !== run.version - 1) return false;
    this.#runs.set(run.runId, run);
    // A released lock keeps its token, so that the next token is greater.
    this.#locks.set(name, { ...held, leaseExpiresAtMs: isEnded(run) ? 0 : leaseExpiresAtMs });
    return true;
  }

  allRuns(): readonly JobRun[] {
    return [...this.#runs.values()];
  }
}
