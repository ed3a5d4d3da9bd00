import { JOB_PAGE_SECONDS } from '../kernel/contract/jobs.ts';

/** The limits in time of a job's worker, each with its reason. */

/** A page's minute, and half a minute for what is under way at its end and for writing it down. Seconds. */
export const JOB_WORKER_TIMEOUT_SECONDS = JOB_PAGE_SECONDS + 30;

/**
 * A message is shown again when its worker is provably gone. Not the six times longer that AWS recommends: where a page kills
 * its workers, the next try must not wait for nine minutes, and a message that comes too early takes over without harm. Seconds.
 */
export const JOB_MESSAGE_HIDDEN_SECONDS = JOB_WORKER_TIMEOUT_SECONDS + 10;

/** Longer than the worker lives, and longer than its message is hidden: a run that lost its worker goes on before the next one begins. Seconds. */
export const JOB_LEASE_SECONDS = JOB_MESSAGE_HIDDEN_SECONDS + 50;

/** A page that kills its workers needs eight deliveries until its run is given up; the rest is for faults of the world. */
export const JOB_MESSAGE_RECEIVES = 12;

/** How often a run looks whether it may begin, while another one of its job is under way. Seconds, of SQS's 900 at most. */
export const JOB_WAIT_SECONDS = 20;

/** What a job may take that says nothing else. Seconds. */
export const JOB_DEFAULT_MAX_DURATION_SECONDS = 60 * 60;

/**
 * What a schedule hands to the executor. The Scheduler puts the time in the place of its own name for it (EventBridge
 * Scheduler user guide, "Adding context attributes"): the time that the schedule names, the same on every attempt.
 */
export const SCHEDULED_TIME_ATTRIBUTE = '<aws.scheduler.scheduled-time>';

export interface JobFiring {
  /** The job's id. */
  readonly job: string;
  /** ISO 8601, as `2026-01-01T00:00:00Z`. */
  readonly scheduledTime: string;
}

/** The executor reads a record and a secret, makes one call of ten seconds, and writes a record. Seconds. */
export const EXECUTOR_TIMEOUT_SECONDS = 20;

/** A run is accepted by two reads, a write and a message. Seconds. */
export const JOBS_API_TIMEOUT_SECONDS = 10;

/** Metrics of jobs, as their workers count them and the stacks watch them. Each is counted under the id of its job. */
export const JobMetric = {
  /** A run has come to its end; some of its items may have failed. */
  succeeded: 'job_succeeded',
  /** A run was given up: it took too long, could not get at its lock, or could not be read. */
  failed: 'job_failed',
  /** An item went wrong and was reported; a later run has it again. */
  itemFailed: 'job_item_failed',
  /** An item ended its worker repeatedly and was skipped. */
  skipped: 'job_item_skipped',
  /** A worker found that another had taken over, and wrote nothing. */
  fenced: 'job_fenced',
} as const;

export type JobMetricName = (typeof JobMetric)[keyof typeof JobMetric];

/** Which job a count is of; all workers count under one name of a service. */
export const JOB_DIMENSION = 'job';
export const JOB_SERVICE = 'jobs';
