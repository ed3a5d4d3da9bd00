/** `<job id>:<scheduled time>`: names one run, whoever asks for it and however often. */
export type RunId = `${string}:${string}`;

export const RUN_STATUSES = ['accepted', 'running', 'succeeded', 'failed'] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

/** A run of a job, as it stands. */
export interface JobRun {
  readonly jobId: string;
  readonly runId: RunId;
  /** Unix milliseconds, whole seconds. */
  readonly scheduledForMs: number;
  readonly status: RunStatus;
  readonly acceptedAtMs: number;
  /** Left out until a worker has begun. */
  readonly startedAtMs?: number;
  /** Left out until it has succeeded or failed. */
  readonly endedAtMs?: number;
  /** Where the next page begins; left out at the beginning. */
  readonly cursor?: string;
  /** How often the page at the cursor was begun. */
  readonly attempts: number;
  readonly done: number;
  readonly left: number;
  readonly failed: number;
  /** Names of items that killed their worker again and again, and that were passed over. */
  readonly setAside: readonly string[];
  /** Why it failed. */
  readonly reason?: string;
  /** Grows with every write: a worker's write replaces only what it has read. */
  readonly version: number;
}

/**
 * The run for a scheduled time. The id of an execution never enters it: that changes with every attempt.
 *
 * @param scheduledForMs Unix milliseconds; parts of a second are cut off, as a schedule has none
 */
export function runIdOf(jobId: string, scheduledForMs: number): RunId {
  const seconds = Math.floor(scheduledForMs / 1000) * 1000;
  return `${jobId}:${new Date(seconds).toISOString().replace('.000Z', 'Z')}`;
}

export function acceptedRun(jobId: string, scheduledForMs: number, nowMs: number): JobRun {
  return {
    jobId,
    runId: runIdOf(jobId, scheduledForMs),
    scheduledForMs: Math.floor(scheduledForMs / 1000) * 1000,
    status: 'accepted',
    acceptedAtMs: nowMs,
    attempts: 0,
    done: 0,
    left: 0,
    failed: 0,
    setAside: [],
    version: 1,
  };
}

export function isEnded({ status }: JobRun): boolean {
  return status === 'succeeded' || status === 'failed';
}
