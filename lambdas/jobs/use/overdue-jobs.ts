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
/** One of Payonce's own jobs, or a job of another service. */
type Watched = Timed & Pick<JobEntry, 'id'>;

/**
 * Returns the maximum time between successful runs, in seconds. For a frequent job, this is a run's maximum duration
 * plus one period of five minutes. For any other job, it is one interval plus the maximum duration plus one hour.
 */
export function maxSecondsBetweenSuccesses({ every, maxDuration = JOB_DEFAULT_MAX_DURATION_SECONDS }: Timed): number {
  if (frequencyOf(every) === 'minutes') return (Math.ceil(maxDuration / FREQUENT_SECONDS) + 1) * FREQUENT_SECONDS;
  return (Math.ceil((every + maxDuration) / HOUR_SECONDS) + 1) * HOUR_SECONDS;
}

interface OverdueTools {
  readonly runs: Pick<JobRunStore, 'listRuns'>;
  readonly marks: JobMarks;
  /** All jobs of this deployment, and the jobs that other services run. */
  readonly watched: readonly Watched[];
}

/**
 * Returns the ids of the jobs whose last successful run is too long ago. The first check that finds no recent success
 * of a job sets a mark. For a job that has never run, the time is counted from this mark, so that a new job is not
 * overdue before its first scheduled time.
 */
export async function overdueJobs({ runs, marks, watched }: OverdueTools, nowMs: number): Promise<readonly string[]> {
  const overdue: string[] = [];
  for (const job of watched) {
    const sinceMs = nowMs - maxSecondsBetweenSuccesses(job) * 1_000;
    // A run that was scheduled before `sinceMs` may have ended after it.
    const fromMs = sinceMs - (job.maxDuration ?? JOB_DEFAULT_MAX_DURATION_SECONDS) * 1_000;
    const found = await runs.listRuns(job.id, { limit: MAX_RUNS, fromMs });
    if (found.some(({ status, endedAtMs = 0 }) => status === 'succeeded' && endedAtMs >= sinceMs)) continue;
    const [earlier] = await runs.listRuns(job.id, { limit: 1, beforeMs: sinceMs });
    // Call this for every job without a recent success, so that the job's mark still exists after its last row has
    // expired.
    const missedSinceMs = await firstMissed(marks, job.id, nowMs);
    if (earlier !== undefined || missedSinceMs <= sinceMs) overdue.push(job.id);
  }
  return overdue;
}

/**
 * Returns the time at which a check first found no recent success, and stores it as a mark unless one exists. Job ids
 * contain no colon, so this name never equals the name of a job's own mark.
 */
async function firstMissed(marks: JobMarks, jobId: string, nowMs: number): Promise<number> {
  const name = `missed:${jobId}`;
  const mark = await marks.readMark(name);
  if (mark !== undefined) return Number(mark);
  await marks.moveMark(name, undefined, String(nowMs));
  return nowMs;
}

export interface WatchJobsTools extends OverdueTools {
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly reportOverdue: (overdue: readonly string[]) => void;
  /** Called when the runs cannot be read. The job itself continues. */
  readonly report: (error: unknown) => void;
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
