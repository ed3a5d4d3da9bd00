import { JOBS_RUN } from '../../kernel/contract/api.ts';

/** A scheduled job. Each entry is deployed with its own schedule. */
export interface JobEntry {
  /** Lower case with hyphens. Run ids contain it, so it must never change. */
  readonly id: string;
  /** The purpose, in one line. */
  readonly why: string;
  /** Schedule in the syntax of EventBridge Scheduler (user guide, "Schedule types"). */
  readonly schedule: string;
  /**
   * The longest interval between two scheduled times, in seconds, at most a week. An alarm is raised when no run has
   * succeeded for a time that is computed from this interval.
   */
  readonly every: number;
  /** Path of the admin route that accepts runs of this job. */
  readonly path: string;
  /** The scopes of the credential that requests the run. */
  readonly scopes: readonly string[];
  /** Whether two runs of the job may be in progress at the same time. @default forbid */
  readonly overlap?: 'forbid' | 'allow';
  /** IANA time zone name; only for `cron`. @default UTC */
  readonly timeZone?: string;
  /**
   * Time limit of a run, in seconds. A run that takes longer fails, and the next run continues its work.
   * @default an hour
   */
  readonly maxDuration?: number;
  /** The worker that has the permissions for the job: `payments` moves money, `upkeep` does not. */
  readonly worker: JobWorkerName;
}

export type JobWorkerName = 'payments' | 'upkeep';

const runsOf = (id: string): string => `/v1/admin/jobs/${id}/runs`;
const MINUTES = 60;
/**
 * Time, in seconds, for which the executor and the jobs API use the credential's secret before they read it again.
 * Secrets Manager charges for each read, and both functions run every minute. Must be shorter than the 15 minutes after
 * which a rotation removes the old value (docs/guides/jobs.md, "The credential").
 */
export const JOB_SECRET_FRESH_SECONDS = 12 * MINUTES;
const HOURS = 60 * MINUTES;
const DAYS = 24 * HOURS;

/**
 * The jobs of every deployment. Each run processes everything that is due, so a missed run does not have to be
 * repeated.
 */
export const JOBS = [
  {
    id: 'resolve',
    why: 'Completes stale claims, determines unknown outcomes, refunds or voids stray charges, and continues open orders.',
    schedule: 'rate(1 minute)',
    every: 1 * MINUTES,
    path: runsOf('resolve'),
    scopes: [JOBS_RUN],
    maxDuration: 10 * MINUTES,
    worker: 'payments',
  },
  {
    id: 'retry-orphans',
    why: 'Retries callbacks that arrived before their payment existed.',
    schedule: 'rate(1 minute)',
    every: 1 * MINUTES,
    path: runsOf('retry-orphans'),
    scopes: [JOBS_RUN],
    maxDuration: 10 * MINUTES,
    worker: 'payments',
  },
  {
    id: 'expire-authorizations',
    why: 'Voids authorizations that were not captured in time.',
    schedule: 'rate(1 hour)',
    every: 1 * HOURS,
    path: runsOf('expire-authorizations'),
    scopes: [JOBS_RUN],
    worker: 'payments',
  },
  {
    id: 'sweep-webhooks',
    why: 'Enqueues webhook deliveries that are due or whose message was lost, and restarts exports whose writer stopped.',
    schedule: 'rate(1 minute)',
    every: 1 * MINUTES,
    path: runsOf('sweep-webhooks'),
    scopes: [JOBS_RUN],
    maxDuration: 10 * MINUTES,
    worker: 'upkeep',
  },
  {
    id: 'republish-events',
    why: 'Republishes events that the projector has not processed, for example after an outage of the relay.',
    schedule: 'rate(5 minutes)',
    every: 5 * MINUTES,
    path: runsOf('republish-events'),
    scopes: [JOBS_RUN],
    worker: 'upkeep',
  },
  {
    id: 'reconcile-recent',
    why: 'Compares new records in the processors’ books and in the Ledger, so that a mismatch is found within an hour, and confirmed by the next run.',
    schedule: 'cron(10 * * * ? *)',
    every: 1 * HOURS,
    path: runsOf('reconcile-recent'),
    scopes: [JOBS_RUN],
    worker: 'upkeep',
  },
  {
    id: 'reconcile-days',
    why: 'Compares whole days again after refunds and disputes, and clears mismatches that no longer exist.',
    schedule: 'cron(15 2 * * ? *)',
    every: 1 * DAYS,
    path: runsOf('reconcile-days'),
    scopes: [JOBS_RUN],
    maxDuration: 720 * MINUTES,
    worker: 'upkeep',
  },
  {
    id: 'close-days',
    why: 'Totals completed days, so that reading a balance takes one row per day instead of all entries.',
    schedule: 'cron(20 1 * * ? *)',
    every: 1 * DAYS,
    path: runsOf('close-days'),
    scopes: [JOBS_RUN],
    maxDuration: 240 * MINUTES,
    worker: 'upkeep',
  },
  {
    id: 'purge-expired',
    why: 'Deletes expired records that DynamoDB time to live has not deleted, and reports if time to live does not work.',
    schedule: 'cron(30 3 * * ? *)',
    every: 1 * DAYS,
    path: runsOf('purge-expired'),
    scopes: [JOBS_RUN],
    maxDuration: 240 * MINUTES,
    worker: 'upkeep',
  },
  {
    id: 'release-commissions',
    why: 'Releases commissions whose refund period has ended.',
    schedule: 'cron(40 * * * ? *)',
    every: 1 * HOURS,
    path: runsOf('release-commissions'),
    scopes: [JOBS_RUN],
    worker: 'upkeep',
  },
] as const satisfies readonly JobEntry[];

/** The jobs of a deployment whose authority is PostgreSQL, in addition to {@link JOBS}. */
const POSTGRES_JOBS = [
  {
    id: 'carry',
    why: 'Copies transitions and erasures from PostgreSQL to DynamoDB if the process that wrote them did not copy them.',
    schedule: 'rate(1 minute)',
    every: 1 * MINUTES,
    path: runsOf('carry'),
    scopes: [JOBS_RUN],
    maxDuration: 10 * MINUTES,
    worker: 'payments',
  },
] as const satisfies readonly JobEntry[];

export type JobId = (typeof JOBS)[number]['id'];
export type PostgresJobId = (typeof POSTGRES_JOBS)[number]['id'];

export type Authority = 'dynamodb' | 'postgres';

export function jobsOf(authority: Authority): readonly (JobEntry & { readonly id: JobId | PostgresJobId })[] {
  return authority === 'postgres' ? [...JOBS, ...POSTGRES_JOBS] : JOBS;
}

/**
 * The ids of one worker's jobs in {@link JOBS}. Each worker lists the code of its own jobs, because only that worker
 * has the stores that the code needs. The compiler refuses a worker whose list has a job too many or too few. The
 * stacks and the API read only the entries, because they must not import the stores.
 */
export type JobOf<Worker extends JobWorkerName> = Extract<(typeof JOBS)[number], { readonly worker: Worker }>['id'];

/** Also finds the jobs that only deployments with PostgreSQL have. */
export function jobEntry(id: string): (JobEntry & { readonly id: JobId | PostgresJobId }) | undefined {
  return jobsOf('postgres').find((entry) => entry.id === id);
}

/** Maximum time for one page of a run, in seconds. Each page has its own message. */
export const JOB_PAGE_SECONDS = 60;
