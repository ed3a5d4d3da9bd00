import { isEnded, type JobRun, type RunId, withPageDone } from '../../lambdas/jobs/domain/job-run.ts';
import { DynamoDbJobRuns } from '../../lambdas/jobs/store/dynamodb-job-runs.ts';
import type { JobLock, JobRunStore } from '../../lambdas/jobs/use/job-runs.ts';
import { workPage } from '../../lambdas/jobs/use/work-page.ts';
import type { workRun } from '../../lambdas/jobs/use/work-run.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { emptyTables } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';
import { LONG_JOB_ID } from './job-fixtures.ts';

/** A faulty store whose writes lack one of their conditions. */
export class NaiveJobRuns extends DynamoDbJobRuns {
  readonly #without: 'token' | 'version' | 'lease';
  readonly #runs = new Map<RunId, JobRun>();
  readonly #locks = new Map<string, JobLock>();

  constructor(without: 'token' | 'version' | 'lease') {
    super(emptyTables().client, TABLES, { clock: new SimulatedClock(), entropy: countingEntropy() });
    this.#without = without;
  }

  override async readRun(jobId: string, runId: RunId): Promise<JobRun | undefined> {
    return this.#runs.get(runId) ?? super.readRun(jobId, runId);
  }

  override async lock(...[name, runId, times]: Parameters<JobRunStore['lock']>): Promise<JobLock | undefined> {
    const held = this.#locks.get(name);
    const free = this.#without === 'lease' || held === undefined || held.leaseExpiresAtMs <= times.nowMs;
    if (!free && held.runId !== runId) return undefined;
    const lock = { name, runId, token: (held?.token ?? 0) + 1, leaseExpiresAtMs: times.leaseExpiresAtMs };
    this.#locks.set(name, lock);
    return lock;
  }

  override async save(run: JobRun, lock: JobLock, leaseExpiresAtMs: number): Promise<boolean> {
    const held = this.#locks.get(lock.name);
    if (this.#without !== 'token' && held?.token !== lock.token) return false;
    const found = this.#runs.get(run.runId);
    if (this.#without !== 'version' && (found?.version ?? 1) !== run.version - 1) return false;
    this.#runs.set(run.runId, run);
    this.#locks.set(lock.name, { ...(held ?? lock), leaseExpiresAtMs: isEnded(run) ? 0 : leaseExpiresAtMs });
    return true;
  }
}

/** Faulty: it saves the next cursor before it processes the items. */
export const cursorFirst: typeof workRun = async ({ runs, tasks, jobs, clock }, { jobId, runId }) => {
  const job = jobs[LONG_JOB_ID];
  const run = await runs.readRun(jobId, runId);
  if (job === undefined || run === undefined || isEnded(run)) return 'nothing_to_do';
  const leaseExpiresAtMs = clock.nowMs() + 150_000;
  const lock = await runs.lock(jobId, runId, { nowMs: clock.nowMs(), leaseExpiresAtMs });
  if (lock === undefined) return 'waiting';
  const { items, next } = await job.page(run.cursor, 2, run);
  const counts = { done: items.length, left: 0, failed: 0 };
  const now = withPageDone(
    run,
    { counts, items: items.length, ...(next === undefined ? {} : { cursor: next }) },
    clock.nowMs(),
  );
  if (!(await runs.save(now, lock, leaseExpiresAtMs))) return 'fenced';
  await workPage({ job, clock, report: () => undefined }, run, 'whole_page');
  if (isEnded(now)) return 'succeeded';
  await tasks.enqueue(run, 0);
  return 'continued';
};
