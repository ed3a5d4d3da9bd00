import type { JobMetricName } from '../contract.ts';
import type { JobRun } from '../domain/job-run.ts';

/** Hears what becomes of runs: counts for alarms, and what went wrong for whoever looks into it. */
export interface JobObserver {
  count(jobId: string, metric: JobMetricName, times: number): void;
  /** @param item its name, when it was one item that went wrong */
  report(error: unknown, run: Pick<JobRun, 'runId'>, item?: string): void;
}
