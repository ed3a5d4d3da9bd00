import { type Scope, Scopes } from './api.ts';

/** A job that the clock runs. What is declared here has a schedule of its own once it is deployed. */
export interface JobEntry {
  /** Lower case with hyphens; part of run-ids, for ever. */
  readonly id: string;
  /** Why it exists, in one line. */
  readonly why: string;
  /** As EventBridge Scheduler writes it: `rate(5 minutes)`, `cron(15 2 * * ? *)` (EventBridge Scheduler user guide, "Schedule types"). */
  readonly schedule: string;
  /** The longest time from one of its scheduled times to the next: an alarm tells when no run comes for longer. Seconds, a week at most. */
  readonly every: number;
  /** The admin route that accepts a run of it. */
  readonly path: string;
  /** What the credential may do with which its run is asked for. */
  readonly scopes: readonly Scope[];
  /** Whether two of its runs may be under way at once. @default forbid */
  readonly overlap?: 'forbid' | 'allow';
  /** IANA name; of `cron` alone. @default UTC */
  readonly timeZone?: string;
  /** A run that is not done by then has failed; the next one sweeps what it left. Seconds. @default an hour */
  readonly maxDuration?: number;
  /** Whose rights it needs: of the function that moves money, or of the one that keeps house. */
  readonly worker: JobWorkerName;
}

export type JobWorkerName = 'payments' | 'upkeep';

const runsOf = (id: string): string => `/v1/admin/jobs/${id}/runs`;
const MINUTES = 60;
const HOURS = 60 * MINUTES;
const DAYS = 24 * HOURS;

/** All of them. Each sweeps whatever is due, so that a run that was missed needs no catching up. */
export const JOBS = [
  {
    id: 'resolve',
    why: 'Finishes stale claims, finds out unknown outcomes, sends back what may not be kept, goes on with open orders.',
    schedule: 'rate(1 minute)',
    every: 1 * MINUTES,
    path: runsOf('resolve'),
    scopes: [Scopes.jobsRun],
    maxDuration: 10 * MINUTES,
    worker: 'payments',
  },
  {
    id: 'retry-orphans',
    why: 'Tries callbacks again that found no payment when they came.',
    schedule: 'rate(1 minute)',
    every: 1 * MINUTES,
    path: runsOf('retry-orphans'),
    scopes: [Scopes.jobsRun],
    maxDuration: 10 * MINUTES,
    worker: 'payments',
  },
  {
    id: 'expire-authorizations',
    why: 'Ends holds that nobody captured in time, so that payers get back what was set aside.',
    schedule: 'rate(1 hour)',
    every: 1 * HOURS,
    path: runsOf('expire-authorizations'),
    scopes: [Scopes.jobsRun],
    worker: 'payments',
  },
  {
    id: 'sweep-webhooks',
    why: 'Brings webhooks back whose wait has ended, or whose message was lost.',
    schedule: 'rate(1 minute)',
    every: 1 * MINUTES,
    path: runsOf('sweep-webhooks'),
    scopes: [Scopes.jobsRun],
    maxDuration: 10 * MINUTES,
    worker: 'upkeep',
  },
  {
    id: 'republish-events',
    why: 'Publishes again what the projector has not seen: what an outage, or a stopped relay, has lost.',
    schedule: 'rate(5 minutes)',
    every: 5 * MINUTES,
    path: runsOf('republish-events'),
    scopes: [Scopes.jobsRun],
    worker: 'upkeep',
  },
  {
    id: 'reconcile-recent',
    why: 'Compares the last day of the processor’s books with the Ledger, so that a difference is known within the hour.',
    schedule: 'cron(10 * * * ? *)',
    every: 1 * HOURS,
    path: runsOf('reconcile-recent'),
    scopes: [Scopes.jobsRun],
    worker: 'upkeep',
  },
  {
    id: 'reconcile-days',
    why: 'Compares whole days once more when refunds and disputes have come, and clears differences that are gone.',
    schedule: 'cron(15 2 * * ? *)',
    every: 1 * DAYS,
    path: runsOf('reconcile-days'),
    scopes: [Scopes.jobsRun],
    maxDuration: 240 * MINUTES,
    worker: 'upkeep',
  },
  {
    id: 'close-days',
    why: 'Adds up the days that are over, so that a balance reads a row for a day instead of its entries.',
    schedule: 'cron(20 1 * * ? *)',
    every: 1 * DAYS,
    path: runsOf('close-days'),
    scopes: [Scopes.jobsRun],
    maxDuration: 240 * MINUTES,
    worker: 'upkeep',
  },
  {
    id: 'purge-expired',
    why: 'Deletes the expired records that time to live has left, and tells when it has stopped working.',
    schedule: 'cron(30 3 * * ? *)',
    every: 1 * DAYS,
    path: runsOf('purge-expired'),
    scopes: [Scopes.jobsRun],
    maxDuration: 240 * MINUTES,
    worker: 'upkeep',
  },
  {
    id: 'release-commissions',
    why: 'Lets affiliates have commissions whose time for refunds is over.',
    schedule: 'cron(40 * * * ? *)',
    every: 1 * HOURS,
    path: runsOf('release-commissions'),
    scopes: [Scopes.jobsRun],
    worker: 'upkeep',
  },
] as const satisfies readonly JobEntry[];

export type JobId = (typeof JOBS)[number]['id'];

/** The jobs of one worker: what it works at is a record of exactly these, or does not compile. */
export type JobOf<Worker extends JobWorkerName> = Extract<(typeof JOBS)[number], { readonly worker: Worker }>['id'];

/** @returns undefined when nothing of that name is declared */
export function jobEntry(id: string): (JobEntry & { readonly id: JobId }) | undefined {
  return JOBS.find((entry) => entry.id === id);
}

/** How long a run is remembered: a second asking for it within this time starts nothing. Days. */
export const RUN_RETENTION_DAYS = 30;

/** A page of work ends within this, and the next one is another message. Seconds. */
export const JOB_PAGE_SECONDS = 60;
