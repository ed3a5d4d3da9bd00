import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import {
  JOB_SERVICE,
  JobMetric,
  type JobMetricName,
  PACE_DIMENSION,
  type Pace,
} from '../../lambdas/jobs/contract/runs.ts';
import { payonceMetric } from './payonce-metric.ts';
import { RunbookAlarm, type RunbookAlarmProps } from './runbook-alarm.ts';

const PERIOD = Duration.minutes(5);
/** A failure in one run of a job that runs every few minutes is corrected by the next runs. */
const FAILED_PERIODS: Readonly<Record<Pace, number>> = { minutes: 3, hours: 1 };
/** Overdue jobs are reported every five minutes. A run of the job that checks them takes at most ten. */
const SILENT_PERIODS = 3;

/**
 * Alarms for jobs that do not run, jobs that fail, and jobs whose items fail or are skipped: each over all jobs of one
 * pace.
 */
export class JobAlarms extends Construct {
  constructor(scope: Construct, id: string) {
    super(scope, id);
    const overdue = { entry: 'a-job-was-missed', metric: overdueMetric() };
    new RunbookAlarm(this, 'Missed', {
      ...overdue,
      description: 'No run of a job has succeeded in time.',
      threshold: 1,
    });
    // A count is never below zero, so only missing data starts it.
    new RunbookAlarm(this, 'NotWatched', {
      ...overdue,
      description:
        'Nothing reports whether jobs are overdue: schedules, the executor or the worker of upkeep do not run.',
      threshold: 0,
      isHeartbeat: true,
      evaluationPeriods: SILENT_PERIODS,
    });
    for (const pace of Object.keys(FAILED_PERIODS) as Pace[]) {
      const often = pace === 'minutes' ? 'minutes' : 'hours or days';
      const alarm = (name: JobMetricName): Pick<RunbookAlarmProps, 'metric' | 'threshold'> => ({
        metric: paceMetric(pace, name),
        threshold: 1,
      });
      new RunbookAlarm(this, `Failed-${pace}`, {
        description: `Runs of a job that runs every few ${often} are given up.`,
        entry: 'a-job-failed',
        ...alarm(JobMetric.failed),
        evaluationPeriods: FAILED_PERIODS[pace],
      });
      new RunbookAlarm(this, `ItemsFailed-${pace}`, {
        description: `Items of a job that runs every few ${often} fail.`,
        entry: 'items-of-a-job-fail',
        ...alarm(JobMetric.itemFailed),
        evaluationPeriods: FAILED_PERIODS[pace],
      });
      new RunbookAlarm(this, `ItemSkipped-${pace}`, {
        description: `An item of a job that runs every few ${often} ended its worker repeatedly and was skipped.`,
        entry: 'an-item-was-skipped',
        ...alarm(JobMetric.skipped),
      });
    }
  }
}

export function overdueMetric() {
  return payonceMetric({ service: JOB_SERVICE, name: JobMetric.overdue, statistic: 'Maximum', period: PERIOD });
}

/** A metric over all jobs of one pace. */
export function paceMetric(pace: Pace, name: JobMetricName) {
  return payonceMetric({ service: JOB_SERVICE, name, period: PERIOD, of: { [PACE_DIMENSION]: pace } });
}
