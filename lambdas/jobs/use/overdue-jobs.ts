import { JOBS, type JobEntry } from '../../kernel/contract/jobs.ts';
import type { Clock } from '../../kernel/world.ts';
import { FREQUENT_SECONDS, JOB_DEFAULT_MAX_DURATION_SECONDS, paceOf } from '../contract.ts';
import type { Job } from './job.ts';
import type { JobRunStore } from './job-runs.ts';

const HOUR_SECONDS = 3_600;
const MINUTE_MS = 60_000;
/** More runs than any job has in the time in which one must succeed. */
const MOST_RUNS = 100;

type Timed = Pick<JobEntry, 'every' | 'maxDuration'>;

/**
 * The longest time without a successful run. Frequent jobs: the maximum duration of a run and one more period of five minutes.
 * Others: from one run to the end of the next, and one more hour. Seconds.
 */
export function longestSilenceSeconds({ every, maxDuration = JOB_DEFAULT_MAX_DURATION_SECONDS }: Timed): number {
  if (paceOf(every) === 'minutes') return (Math.ceil(maxDuration / FREQUENT_SECONDS) + 1) * FREQUENT_SECONDS;
  return (Math.ceil((every + maxDuration) / HOUR_SECONDS) + 1) * HOUR_SECONDS;
}

/**
 * The jobs of which no run has succeeded in time. A job is not overdue before its first time can have come: as long as no run of
 * the watching job is old enough.
 *
 * @param watcher the job that looks, which runs often
 */
export async function overdueJobs(
  runs: Pick<JobRunStore, 'listRuns'>,
  watcher: string,
  nowMs: number,
  jobs: readonly (Timed & Pick<JobEntry, 'id'>)[] = JOBS,
): Promise<readonly string[]> {
  const overdue: string[] = [];
  for (const job of jobs) {
    const sinceMs = nowMs - longestSilenceSeconds(job) * 1_000;
    // A run that was scheduled before may have ended since then.
    const fromMs = sinceMs - (job.maxDuration ?? JOB_DEFAULT_MAX_DURATION_SECONDS) * 1_000;
    const found = await runs.listRuns(job.id, { limit: MOST_RUNS, fromMs });
    if (found.some(({ status, endedAtMs = 0 }) => status === 'succeeded' && endedAtMs >= sinceMs)) continue;
    const [earlier] = await runs.listRuns(watcher, { limit: 1, beforeMs: sinceMs });
    if (earlier !== undefined) overdue.push(job.id);
  }
  return overdue;
}

export interface WatchJobsTools {
  readonly runs: Pick<JobRunStore, 'listRuns'>;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly tell: (overdue: readonly string[]) => void;
  /** Receives the error when the runs cannot be read. The job goes on. */
  readonly report: (error: unknown) => void;
}

/**
 * A job that runs every minute and, at the beginning of the first run of every five minutes, also tells which jobs are overdue.
 * Its times need not be whole minutes: those of `rate(1 minute)` count from the creation of the schedule.
 */
export function watchingJobs<Thing>(watcher: string, job: Job<Thing>, tools: WatchJobsTools): Job<Thing> {
  const { runs, clock, tell, report } = tools;
  return {
    ...job,
    page: async (cursor, limit, run) => {
      if (cursor === undefined && run.scheduledForMs % (FREQUENT_SECONDS * 1_000) < MINUTE_MS)
        await overdueJobs(runs, watcher, clock.nowMs()).then(tell, report);
      return job.page(cursor, limit, run);
    },
  };
}
