import { MetricUnit } from '@aws-lambda-powertools/metrics';
import type { Instruments } from '../../kernel/platform/instruments.ts';
import { standardTelemetry } from '../../kernel/platform/telemetry.ts';
import { JOB_DIMENSION, JOB_SERVICE, type JobMetricName } from '../contract.ts';
import type { RunId } from '../domain/job-run.ts';
import type { JobMessage } from '../use/job-message.ts';

export interface JobTelemetry {
  readonly count: (jobId: string, metric: JobMetricName, times: number) => void;
  /** Logs an error of a run, or of one of its items. */
  readonly report: (error: unknown, run: { readonly runId: RunId }, item?: string) => void;
  /** Logs one line for each message. */
  readonly worked: (message: JobMessage, came: string) => void;
  readonly fault: (requestId: string, error: unknown) => void;
}

/** Metrics have the job as a dimension. */
export function jobTelemetry(serviceName: string, instruments: Instruments): JobTelemetry {
  const logger = instruments.logger(serviceName);
  const metrics = instruments.metrics(JOB_SERVICE);
  const standard = standardTelemetry(serviceName, instruments);
  const fault: JobTelemetry['fault'] = (requestId, error) => standard.fault(requestId, error);
  return {
    count: (jobId, metric, times) => {
      const one = metrics.singleMetric();
      one.addDimension(JOB_DIMENSION, jobId);
      one.addMetric(metric, MetricUnit.Count, times);
    },
    report: (error, { runId }, item) => fault(item === undefined ? runId : `${runId} ${item}`, error),
    worked: ({ jobId, runId }, came) => logger.info('worked', { job: jobId, run: runId, came }),
    fault,
  };
}
