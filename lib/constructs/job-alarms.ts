import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import {
  FREQUENCY_DIMENSION,
  type Frequency,
  JOB_SERVICE,
  JobMetric,
  type JobMetricName,
} from '../../lambdas/jobs/contract/runs.ts';
import { payonceMetric } from './payonce-metric.ts';
import { RunbookAlarm, type RunbookAlarmProps } from './runbook-alarm.ts';

const PERIOD = Duration.minutes(5);
/**
 * Number of consecutive periods with failures after which an alarm is raised, by frequency of the jobs. For a job that
 * runs every few minutes, several periods are evaluated, because the next run also does the work of a failed run.
 */
const FAILED_PERIODS: Readonly<Record<Frequency, number>> = { minutes: 3, hours: 1 };
/**
 * Number of periods without a report after which an alarm is raised. Overdue jobs are reported every five minutes, and
 * the job that reports them takes at most ten minutes.
 */
const SILENT_PERIODS = 3;

/**
 * Alarms for jobs that do not run, for failed runs, and for items that fail or are skipped. Each alarm on failed runs
 * or items covers all jobs with the same frequency.
 */
export class JobAlarms extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id);
    const overdue = { entry: 'jobs.md#a-job-was-missed', metric: overdueMetric() };
    new RunbookAlarm(this, 'Missed', {
      ...overdue,
      description: 'A job is overdue: none of its runs has succeeded in time.',
      threshold: 1,
    });
    // A count is never below zero, so only missing data raises this alarm.
    new RunbookAlarm(this, 'NotWatched', {
      ...overdue,
      description: 'Nothing reports whether jobs are overdue: schedules, the executor or the upkeep worker do not run.',
      threshold: 0,
      isHeartbeat: true,
      evaluationPeriods: SILENT_PERIODS,
    });
    for (const frequency of Object.keys(FAILED_PERIODS) as Frequency[]) {
      const often = frequency === 'minutes' ? 'minutes' : 'hours or days';
      const alarm = (name: JobMetricName): Pick<RunbookAlarmProps, 'metric' | 'threshold'> => ({
        metric: frequencyMetric(frequency, name),
        threshold: 1,
      });
      new RunbookAlarm(this, `Failed-${frequency}`, {
        description: `A run of a job that runs every few ${often} has failed in all of its attempts.`,
        entry: 'jobs.md#a-job-failed',
        ...alarm(JobMetric.failed),
        evaluationPeriods: FAILED_PERIODS[frequency],
      });
      new RunbookAlarm(this, `ItemsFailed-${frequency}`, {
        description: `Items have failed in a job that runs every few ${often}.`,
        entry: 'jobs.md#items-of-a-job-fail',
        ...alarm(JobMetric.itemFailed),
        evaluationPeriods: FAILED_PERIODS[frequency],
      });
      new RunbookAlarm(this, `ItemSkipped-${frequency}`, {
        description: `An item of a job that runs every few ${often} was skipped after it had crashed its worker repeatedly.`,
        entry: 'jobs.md#an-item-was-skipped',
        ...alarm(JobMetric.skipped),
      });
    }
  }
}

export function overdueMetric() {
  return payonceMetric({ service: JOB_SERVICE, name: JobMetric.overdue, statistic: 'Maximum', period: PERIOD });
}

export function frequencyMetric(frequency: Frequency, name: JobMetricName) {
  return payonceMetric({ service: JOB_SERVICE, name, period: PERIOD, of: { [FREQUENCY_DIMENSION]: frequency } });
}
