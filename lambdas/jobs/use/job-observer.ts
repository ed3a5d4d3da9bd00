import type { JobMetricName } from '../contract.ts';
import type { JobRun } from '../domain/job-run.ts';

/** Receives the metrics and the errors of runs, for alarms and logs. */
export interface JobObserver {
  count(jobId: string, metric: JobMetricName, times: number): void;
  /** @param item the name of the failed item, if the error belongs to one */
  report(error: unknown, run: Pick<JobRun, 'runId'>, item?: string): void;
}
