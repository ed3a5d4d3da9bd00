/*
 * Scheduled jobs that other services run. The setting `jobTargets` declares the jobs and the services. The stacks pass
 * it to the functions that call the services, list the jobs, or check whether jobs are overdue.
 */

/** A job that another of the team's services runs. */
export interface TargetJob {
  /** Lower case with hyphens. Run ids contain it, so it must never change. */
  readonly id: string;
  /** The purpose, in one line. */
  readonly why: string;
  /** Schedule in the syntax of Payonce's own jobs: `rate(5 minutes)`, `cron(15 2 * * ? *)`. */
  readonly schedule: string;
  /** The longest interval between two scheduled times, in seconds. */
  readonly every: number;
  /** IANA time zone name; only for `cron`. @default UTC */
  readonly timeZone?: string;
  /** Path at the target to which the POST request is sent. */
  readonly path: string;
  /** The scopes of the credential for the call. */
  readonly scopes: readonly string[];
  /**
   * Maximum time, in seconds, from the scheduled time of a run until the target accepts the run.
   * @default the value of `every`, but at most one hour
   */
  readonly window?: number;
}

/** A service that runs jobs. */
export interface JobTarget {
  /** The base address, without a trailing slash. */
  readonly url: string;
  readonly jobs: readonly TargetJob[];
}

/** Targets by name. */
export type JobTargets = Readonly<Record<string, JobTarget>>;

/** The default of {@link TargetJob.window} is at most this long, in seconds. */
const LONGEST_DEFAULT_WINDOW_SECONDS = 3_600;

export function windowOf({ every, window }: TargetJob): number {
  return window ?? Math.min(every, LONGEST_DEFAULT_WINDOW_SECONDS);
}

export interface ListedJob extends Pick<TargetJob, 'id' | 'why' | 'schedule' | 'every' | 'timeZone'> {
  readonly target: string;
  /** Maximum time from the scheduled time of a run until the target accepts the run, in seconds. */
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

export interface CalledTarget {
  readonly url: string;
  /** Id of the secret that signs credentials for this target only. */
  readonly secretId: string;
  readonly jobs: Readonly<Record<string, CalledJob>>;
}

interface CalledJob {
  readonly path: string;
  readonly scopes: readonly string[];
  readonly windowSeconds: number;
}

/**
 * Timeout of the function that calls targets, in seconds. The function reads a record and a secret, makes one request
 * of at most ten seconds, and writes a record or a message.
 */
export const JOB_TARGETS_TIMEOUT_SECONDS = 25;

export const TargetEnvironment = {
  targets: 'JOB_TARGETS',
  queueUrl: 'TARGET_CALLS_QUEUE_URL',
  missedQueueUrl: 'MISSED_QUEUE_URL',
} as const;

import { defined } from '../../kernel/defined.ts';
