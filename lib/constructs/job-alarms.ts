import { Duration } from 'aws-cdk-lib';
import type { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import { JOB_DIMENSION, JOB_SERVICE, JobMetric, type JobMetricName } from '../../lambdas/jobs/contract.ts';
import type { JobEntry } from '../../lambdas/kernel/contract/jobs.ts';
import { payonceMetric } from './payonce-metric.ts';
import { RunbookAlarm } from './runbook-alarm.ts';

export interface JobAlarmsProps {
  readonly jobs: readonly JobEntry[];
}

const PERIOD = Duration.minutes(5);
const HOUR_SECONDS = 3_600;
/** If a job runs every few minutes, a failure in one run is corrected by the next runs. */
const FAILED_PERIODS = 3;
/** The longest period that a CloudWatch alarm evaluates: seven days (PutMetricAlarm, "EvaluationPeriods"). Hours. */
const LONGEST_LOOK_BACK = 7 * 24;
/** Maximum duration of a run without `maxDuration`. Seconds. */
const USUAL_DURATION = 3_600;

/** Alarms for jobs that do not run, jobs that fail, and jobs whose items fail or are skipped. */
export class JobAlarms extends Construct {
  constructor(scope: Construct, id: string, { jobs }: JobAlarmsProps) {
    super(scope, id);
    for (const job of jobs) {
      const isFrequent = job.every <= PERIOD.toSeconds();
      new RunbookAlarm(this, `${job.id}-Missed`, {
        description: `No run of ${job.id} has finished in time.`,
        entry: 'a-job-was-missed',
        threshold: 1,
        isSignOfLife: true,
        ...(isFrequent ? silentForPeriods(job) : silentForHours(job)),
      });
      new RunbookAlarm(this, `${job.id}-Failed`, {
        description: `A run of ${job.id} was given up.`,
        entry: 'a-job-failed',
        metric: jobMetric(job, JobMetric.failed, PERIOD),
        threshold: 1,
        evaluationPeriods: isFrequent ? FAILED_PERIODS : 1,
      });
      new RunbookAlarm(this, `${job.id}-ItemsFailed`, {
        description: `Items of ${job.id} fail${isFrequent ? ' in consecutive runs' : ''}.`,
        entry: 'items-of-a-job-fail',
        metric: jobMetric(job, JobMetric.itemFailed, PERIOD),
        threshold: 1,
        evaluationPeriods: isFrequent ? FAILED_PERIODS : 1,
      });
      new RunbookAlarm(this, `${job.id}-ItemSkipped`, {
        description: `An item of ${job.id} ended its worker repeatedly and was skipped.`,
        entry: 'an-item-was-skipped',
        metric: jobMetric(job, JobMetric.skipped, PERIOD),
        threshold: 1,
      });
    }
  }
}

export function jobMetric({ id }: Pick<JobEntry, 'id'>, name: JobMetricName, period: Duration): Metric {
  return payonceMetric({ service: JOB_SERVICE, name, period, of: { [JOB_DIMENSION]: id } });
}

/** The maximum duration of a run and one more period. */
function silentForPeriods(job: JobEntry) {
  const takes = Math.ceil((job.maxDuration ?? USUAL_DURATION) / PERIOD.toSeconds());
  return { metric: jobMetric(job, JobMetric.succeeded, PERIOD), evaluationPeriods: takes + 1 };
}

/** The time from one run to the end of the next, and one more hour. */
function silentForHours(job: JobEntry) {
  const hours = Math.ceil((job.every + (job.maxDuration ?? USUAL_DURATION)) / HOUR_SECONDS) + 1;
  if (hours > LONGEST_LOOK_BACK)
    throw new Error(
      `no alarm can detect a missed run of ${job.id}: its interval is longer than the period that an alarm evaluates`,
    );
  return { metric: jobMetric(job, JobMetric.succeeded, Duration.hours(1)), evaluationPeriods: hours };
}
