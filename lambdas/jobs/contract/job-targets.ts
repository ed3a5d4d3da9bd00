/**
 * Scheduled jobs of other services. The setting `jobTargets` declares them. The stacks and the function that calls
 * these services read the setting.
 */

/** A job that a service of the team runs. */
export interface TargetJob {
  /** Lower case with hyphens. Run ids contain it, so it must never change. */
  readonly id: string;
  /** The purpose, in one line. */
  readonly why: string;
  /** In the syntax of Payonce's own jobs: `rate(5 minutes)`, `cron(15 2 * * ? *)`. */
  readonly schedule: string;
  /** The longest interval between two scheduled times. Seconds. */
  readonly every: number;
  /** IANA name; only for `cron`. @default UTC */
  readonly timeZone?: string;
  /** The path at the target that is called with POST. */
  readonly path: string;
  /** The scopes of the credential for the call. */
  readonly scopes: readonly string[];
  /**
   * Maximum time after its scheduled time at which the target may accept a run. Seconds. @default `every`, at most an
   * hour
   */
  readonly window?: number;
}

/** A service with jobs. */
export interface JobTarget {
  /** The base address, without a trailing slash. */
  readonly url: string;
  readonly jobs: readonly TargetJob[];
}

/** Targets by name. */
export type JobTargets = Readonly<Record<string, JobTarget>>;

/** Seconds. */
const LONGEST_DEFAULT_WINDOW_SECONDS = 3_600;

export function windowOf({ every, window }: TargetJob): number {
  return window ?? Math.min(every, LONGEST_DEFAULT_WINDOW_SECONDS);
}

/** A job of a target, as the list of jobs and the check for overdue jobs use it. */
export interface ListedJob extends Pick<TargetJob, 'id' | 'why' | 'schedule' | 'every' | 'timeZone'> {
  readonly target: string;
  /** The window of the job. Seconds. */
  readonly maxDuration: number;
}

export function listedJobs(targets: JobTargets): readonly ListedJob[] {
  return Object.entries(targets).flatMap(([target, { jobs }]) =>
    jobs.map((job) => {
      const { id, why, schedule, every, timeZone } = job;
      const zone = defined({ timeZone });
      return { id, target, why, schedule, every, ...zone, maxDuration: windowOf(job) };
    }),
  );
}

/** A target as configured for the function that calls it. */
export interface CalledTarget {
  readonly url: string;
  /** The secret with which credentials for this target, and for no other target, are signed. */
  readonly secretId: string;
  /** Jobs by id. */
  readonly jobs: Readonly<Record<string, CalledJob>>;
}

interface CalledJob {
  readonly path: string;
  readonly scopes: readonly string[];
  readonly windowSeconds: number;
}

/**
 * Timeout of the function that calls targets. It reads a record and a secret, makes one call of at most ten seconds,
 * and writes a record or a message. Seconds.
 */
export const JOB_TARGETS_TIMEOUT_SECONDS = 25;

/** The environment variables of the function that calls targets. */
export const TargetEnvironment = {
  /** JSON, an object of `CalledTarget`. */
  targets: 'JOB_TARGETS',
  queueUrl: 'TARGET_CALLS_QUEUE_URL',
  missedQueueUrl: 'MISSED_QUEUE_URL',
} as const;

import { defined } from '../../kernel/defined.ts';
