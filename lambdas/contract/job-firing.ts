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
