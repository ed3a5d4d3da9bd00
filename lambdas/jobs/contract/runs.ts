import { JOB_PAGE_SECONDS } from './jobs.ts';

/**
 * Timeout of a job worker, in seconds: one minute for a page, plus 30 seconds to complete the item in progress and
 * write the run.
 */
export const JOB_WORKER_TIMEOUT_SECONDS = JOB_PAGE_SECONDS + 30;

/**
 * The visibility timeout of a job's message, in seconds: the message reappears only after its worker has certainly
 * ended. AWS recommends six times the function timeout, but with that value, each attempt after a worker crash would
 * wait nine minutes. A message that reappears early does no harm.
 */
export const JOB_MESSAGE_HIDDEN_SECONDS = JOB_WORKER_TIMEOUT_SECONDS + 10;

/**
 * Lease of a job lock, in seconds. It exceeds the visibility timeout, so that a run that lost its worker resumes before
 * another run begins.
 */
export const JOB_LEASE_SECONDS = JOB_MESSAGE_HIDDEN_SECONDS + 50;

/**
 * Interval at which a waiting run checks whether the other run of its job has ended, in seconds. SQS allows at most
 * 900.
 */
export const JOB_WAIT_SECONDS = 20;

/** The default maximum duration of a run, in seconds. */
export const JOB_DEFAULT_MAX_DURATION_SECONDS = 60 * 60;

/**
 * A placeholder in the input of a schedule. EventBridge Scheduler replaces the placeholder with the scheduled time,
 * which is the same for every attempt (EventBridge Scheduler user guide, "Adding context attributes").
 */
export const SCHEDULED_TIME_ATTRIBUTE = '<aws.scheduler.scheduled-time>';

export interface JobFiring {
  readonly job: string;
  /** ISO 8601, for example `2026-01-01T00:00:00Z`. */
  readonly scheduledTime: string;
}

/** Timeout of the executor, in seconds. */
export const EXECUTOR_TIMEOUT_SECONDS = 20;

/** Timeout of the jobs API, in seconds. Accepting a run takes a few reads, a write and a message. */
export const JOBS_API_TIMEOUT_SECONDS = 10;

/** A metric of one job has the job's id as a dimension. */
export const JobMetric = {
  /** Number of jobs that had no successful run in time. Reported every five minutes, even when it is zero. */
  overdue: 'jobs_overdue',
  /**
   * A run failed because it took too long, could not acquire its lock, crashed its workers, or could not read a page.
   */
  failed: 'job_failed',
  /** An item failed and was reported. A later run processes it again. */
  itemFailed: 'job_item_failed',
  /** An item crashed its worker repeatedly and was skipped. */
  skipped: 'job_item_skipped',
  /** A worker was fenced by another worker, and wrote nothing. */
  fenced: 'job_fenced',
} as const;

export type JobMetricName = (typeof JobMetric)[keyof typeof JobMetric];

export type CountedMetric = Exclude<JobMetricName, typeof JobMetric.overdue>;

/** The dimension whose value is the job id. All workers share the service name `jobs`. */
export const JOB_DIMENSION = 'job';
export const JOB_SERVICE = 'jobs';

/**
 * The dimension whose value is the frequency of a job: `minutes` for an interval of at most five minutes, otherwise
 * `hours`. One alarm monitors all jobs with the same frequency.
 */
export const FREQUENCY_DIMENSION = 'frequency';

/**
 * Maximum interval of a frequent job, in seconds. If a run of a frequent job fails, the next run does the same work
 * within minutes.
 */
export const FREQUENT_SECONDS = 5 * 60;

export type Frequency = 'minutes' | 'hours';

export function frequencyOf(every: number): Frequency {
  return every <= FREQUENT_SECONDS ? 'minutes' : 'hours';
}
