import { Duration } from 'aws-cdk-lib';
import type { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import { JOB_DIMENSION, JOB_SERVICE, JobMetric, type JobMetricName } from '../../lambdas/jobs/contract.ts';
import { nextScheduled, readSchedule } from '../../lambdas/jobs/schedules.ts';
import type { JobEntry } from '../../lambdas/kernel/contract/jobs.ts';
import { payonceMetric } from './payonce-metric.ts';
import { RunbookAlarm } from './runbook-alarm.ts';

export interface JobAlarmsProps {
  readonly jobs: readonly JobEntry[];
}

const PERIOD = Duration.minutes(5);
const HOUR_MS = 3_600_000;
/** What fails in one run of a job that comes every few minutes is made up for by the next ones. */
const FAILED_PERIODS = 3;
/** CloudWatch looks no further back than seven days (PutMetricAlarm, "EvaluationPeriods"). Hours. */
const LONGEST_LOOK_BACK = 7 * 24;
/** Of a run that is not declared to be longer (`maxDuration`). Seconds. */
const USUAL_DURATION = 3_600;

/** Tells a person of jobs that do not run, that fail, and whose items go wrong or are passed over. */
export class JobAlarms extends Construct {
  constructor(scope: Construct, id: string, { jobs }: JobAlarmsProps) {
    super(scope, id);
    for (const job of jobs) {
      const everyMs = longestWaitMs(job);
      const isFrequent = everyMs <= PERIOD.toMilliseconds();
      new RunbookAlarm(this, `${job.id}-Missed`, {
        description: `No run of ${job.id} has finished in time.`,
        entry: 'a-job-was-missed',
        threshold: 1,
        isSignOfLife: true,
        ...(isFrequent ? silentForPeriods(job) : silentForHours(job, everyMs)),
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

/** As long as a run may take, and one period more. */
function silentForPeriods(job: JobEntry) {
  const takes = Math.ceil((job.maxDuration ?? USUAL_DURATION) / PERIOD.toSeconds());
  return { metric: jobMetric(job, JobMetric.succeeded, PERIOD), evaluationPeriods: takes + 1 };
}

/** From one run to the end of the next, and an hour more. */
function silentForHours(job: JobEntry, everyMs: number) {
  const hours = Math.ceil((everyMs + (job.maxDuration ?? USUAL_DURATION) * 1_000) / HOUR_MS) + 1;
  if (hours > LONGEST_LOOK_BACK)
    throw new Error(`no alarm can tell that ${job.id} was missed: it runs more rarely than an alarm looks back`);
  return { metric: jobMetric(job, JobMetric.succeeded, Duration.hours(1)), evaluationPeriods: hours };
}

/** So many runs show a week of a schedule that comes every hour, and more of one that comes less often. */
const LOOKED_AT = 200;
/** After which a schedule that an alarm can watch comes again as before. */
const ROUND_MS = 8 * 24 * HOUR_MS;
/** Always the same one, so that a template does not depend on the day on which it is made. */
const FROM_MS = Date.UTC(2026, 0, 1);

function longestWaitMs({ id, schedule: text, timeZone }: JobEntry): number {
  const read = readSchedule(text, timeZone);
  if (read.kind === 'invalid') throw new Error(`the schedule of ${id} ${read.reason}`);
  const { schedule } = read;
  if (schedule.kind === 'rate') return schedule.everyMs;
  let longestMs = 0;
  let lastMs = nextScheduled(schedule, FROM_MS) ?? FROM_MS;
  for (let looked = 0; looked < LOOKED_AT; looked += 1) {
    const nextMs = nextScheduled(schedule, lastMs) ?? lastMs;
    longestMs = Math.max(longestMs, nextMs - lastMs);
    lastMs = nextMs;
  }
  // What comes more often pauses at night or at week-ends: seen hour by hour, such a pause may have begun an hour before.
  while (lastMs < FROM_MS + ROUND_MS) {
    const fromMs = lastMs + HOUR_MS;
    const nextMs = nextScheduled(schedule, fromMs) ?? fromMs;
    if (nextMs - fromMs > longestMs) longestMs = Math.max(longestMs, nextMs - lastMs);
    lastMs = Math.max(nextMs, fromMs);
  }
  return longestMs;
}
