import { isFault } from '../../kernel/faults.ts';
import type { Clock } from '../../kernel/world.ts';
import type { JobEntry } from '../contract/jobs.ts';
import { FREQUENT_SECONDS, frequencyOf, JOB_DEFAULT_MAX_DURATION_SECONDS } from '../contract/runs.ts';
import type { Job } from './job.ts';
import type { JobMarks } from './job-marks.ts';
import type { JobRunStore } from './job-runs.ts';

const HOUR_SECONDS = 3_600;
const MINUTE_MS = 60_000;
/** Maximum number of runs to read. No job has more runs than this within the time in which it must succeed. */
const MAX_RUNS = 100;

type Timed = Pick<JobEntry, 'every' | 'maxDuration'>;
type Watched = Timed & Pick<JobEntry, 'id'>;

/**
 * For a frequent job, this is a run's maximum duration, rounded up to periods of five minutes, plus one period. For any
 * other job, it is one interval plus the maximum duration, rounded up to hours, plus one hour.
 */
export function maxSecondsBetweenSuccesses({ every, maxDuration = JOB_DEFAULT_MAX_DURATION_SECONDS }: Timed): number {
  if (frequencyOf(every) === 'minutes') return (Math.ceil(maxDuration / FREQUENT_SECONDS) + 1) * FREQUENT_SECONDS;
  return (Math.ceil((every + maxDuration) / HOUR_SECONDS) + 1) * HOUR_SECONDS;
}

interface OverdueTools {
  readonly runs: Pick<JobRunStore, 'listRuns'>;
  readonly marks: JobMarks;
  readonly watched: readonly Watched[];
  /** Called when the runs of a job cannot be read. The other jobs are still checked. */
  readonly report: (error: unknown) => void;
}

/**
 * A job is overdue if it has had no successful run for the maximum time between its successful runs, and has been
 * watched for longer than this time. A new job, or one that was removed and added again, is therefore not overdue
 * before its first scheduled time. A job whose runs this code cannot parse is overdue, because no success is known.
 */
export async function overdueJobs(tools: OverdueTools, nowMs: number): Promise<readonly string[]> {
  const { runs, watched, report } = tools;
  const watchedSinceMs = await readWatchedSince(tools, nowMs);
  const overdue: string[] = [];
  for (const job of watched) {
    const sinceMs = nowMs - maxSecondsBetweenSuccesses(job) * 1_000;
    if ((watchedSinceMs.get(job.id) ?? nowMs) > sinceMs) continue;
    // A run that was scheduled before `sinceMs` may have ended after it.
    const fromMs = sinceMs - (job.maxDuration ?? JOB_DEFAULT_MAX_DURATION_SECONDS) * 1_000;
    try {
      const found = await runs.listRuns(job.id, { limit: MAX_RUNS, fromMs });
      if (!found.some(({ status, endedAtMs = 0 }) => status === 'succeeded' && endedAtMs >= sinceMs))
        overdue.push(job.id);
    } catch (error) {
      report(error);
      if (!isFault(error)) overdue.push(job.id);
    }
  }
  return overdue;
}

/**
 * The name of the mark in which the times are stored. Job ids contain no colon, so this name never equals the name of a
 * job's own mark.
 */
const MARK = 'watched:jobs';

/**
 * Returns the time since which each job has been watched, in Unix milliseconds, by its id. The times are stored as a
 * mark, which changes only when jobs are added or removed.
 */
async function readWatchedSince(
  { marks, watched }: Pick<OverdueTools, 'marks' | 'watched'>,
  nowMs: number,
): Promise<ReadonlyMap<string, number>> {
  const text = await marks.readMark(MARK);
  const before = new Map(Object.entries(JSON.parse(text ?? '{}') as Record<string, number>));
  const since = new Map(watched.map(({ id }) => [id, before.get(id) ?? nowMs]));
  const next = JSON.stringify(Object.fromEntries(since));
  if (next !== text) await marks.moveMark(MARK, text, next);
  return since;
}

export interface WatchJobsTools extends OverdueTools {
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly reportOverdue: (overdue: readonly string[]) => void;
}

/**
 * Wraps a job that runs every minute, so that its first run in every five minutes begins by reporting overdue jobs. The
 * scheduled times need not be whole minutes, because `rate(1 minute)` is counted from the creation of the schedule.
 */
export function withOverdueReport<Thing>(job: Job<Thing>, tools: WatchJobsTools): Job<Thing> {
  const { clock, reportOverdue, report } = tools;
  return {
    ...job,
    page: async (cursor, limit, run) => {
      if (cursor === undefined && run.scheduledForMs % (FREQUENT_SECONDS * 1_000) < MINUTE_MS)
        await overdueJobs(tools, clock.nowMs()).then(reportOverdue, report);
      return job.page(cursor, limit, run);
    },
  };
}
