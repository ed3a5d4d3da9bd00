import { MetricUnit } from '@aws-lambda-powertools/metrics';
import type { Instruments } from '../../kernel/platform/instruments.ts';
import { standardTelemetry } from '../../kernel/platform/telemetry.ts';
import { jobEntry } from '../contract/jobs.ts';
import {
  type CountedMetric,
  FREQUENCY_DIMENSION,
  frequencyOf,
  JOB_DIMENSION,
  JOB_SERVICE,
  JobMetric,
} from '../contract/runs.ts';
import type { RunId } from '../domain/job-run.ts';
import type { JobMessage } from '../use/job-message.ts';

export interface JobTelemetry {
  readonly count: (jobId: string, metric: CountedMetric, times: number) => void;
  /** Call this even when there are none: missing data would mean that the check did not run. */
  readonly overdue: (jobIds: readonly string[]) => void;
  readonly report: (error: unknown, run: { readonly runId: RunId }, item?: string) => void;
  readonly worked: (message: JobMessage, result: string) => void;
  readonly fault: (requestId: string, error: unknown) => void;
}

/** Metrics are counted by job and, for alarms, by frequency. */
export function jobTelemetry(serviceName: string, instruments: Instruments): JobTelemetry {
  const logger = instruments.logger(serviceName);
  const metrics = instruments.metrics(JOB_SERVICE);
  const standard = standardTelemetry(serviceName, instruments);
  const fault: JobTelemetry['fault'] = (requestId, error) => standard.fault(requestId, error);
  return {
    count: (jobId, metric, times) => {
      const frequency = frequencyOf(jobEntry(jobId)?.every ?? 0);
      for (const [name, value] of Object.entries({ [JOB_DIMENSION]: jobId, [FREQUENCY_DIMENSION]: frequency })) {
        const one = metrics.singleMetric();
        one.addDimension(name, value);
        one.addMetric(metric, MetricUnit.Count, times);
      }
    },
    overdue: (jobs) => {
      if (jobs.length > 0) logger.warn('overdue', { jobs });
      metrics.singleMetric().addMetric(JobMetric.overdue, MetricUnit.Count, jobs.length);
    },
    report: (error, { runId }, item) => fault(item === undefined ? runId : `${runId} ${item}`, error),
    worked: ({ jobId, runId }, result) => logger.info('worked', { job: jobId, run: runId, result }),
    fault,
  };
}
