/** Tests the guarantee "raised alarms". */
import { describe, expect, test } from '@jest/globals';
import { JOBS } from '../../lambdas/jobs/contract/jobs.ts';
import { acceptedRun, type JobRun } from '../../lambdas/jobs/domain/job-run.ts';
import type { RunsPage } from '../../lambdas/jobs/use/job-runs.ts';
import { maxSecondsBetweenSuccesses, overdueJobs, withOverdueReport } from '../../lambdas/jobs/use/overdue-jobs.ts';
import { RetryableError } from '../../lambdas/kernel/faults.ts';

const NOW_MS = Date.UTC(2026, 2, 2, 12);
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const WATCHER = 'sweep-webhooks';
const EVERY_MINUTE = { id: 'resolve', every: 60, maxDuration: 600 };
const report = (error: unknown): never => {
  throw error;
};
const NIGHTLY = { id: 'close-days', every: 86_400, maxDuration: 14_400 };

const run = (jobId: string, agoMs: number, status: JobRun['status'], tookMs = 1_000): JobRun => {
  const begun = acceptedRun(jobId, NOW_MS - agoMs, NOW_MS - agoMs);
  return { ...begun, status, ...(status === 'succeeded' ? { endedAtMs: NOW_MS - agoMs + tookMs } : {}) };
};

function storeOf(...runs: readonly JobRun[]) {
  return {
    listRuns: async (jobId: string, { limit, fromMs = 0, beforeMs = Number.POSITIVE_INFINITY }: RunsPage) =>
      runs
        .filter((each) => each.jobId === jobId && each.scheduledForMs >= fromMs && each.scheduledForMs < beforeMs)
        .toSorted((one, other) => other.scheduledForMs - one.scheduledForMs)
        .slice(0, limit),
  };
}

/**
 * Returns a store of marks that contains the time since which each job is watched, in Unix milliseconds; empty if
 * undefined.
 */
function marksOf(watchedSinceMs?: Readonly<Record<string, number>>) {
  const kept = new Map<string, string>();
  if (watchedSinceMs !== undefined) kept.set('watched:jobs', JSON.stringify(watchedSinceMs));
  return {
    moves: 0,
    readMark: async (name: string) => kept.get(name),
    async moveMark(name: string, from: string | undefined, to: string) {
      expect(kept.get(name)).toBe(from);
      kept.set(name, to);
      this.moves += 1;
      return true;
    },
  };
}

describe('a job', () => {
  test.each([
    ['after 15 minutes if it runs every minute for up to ten minutes', { every: 60, maxDuration: 600 }, 900],
    ['after three hours if it runs every hour for up to an hour', { every: 3_600 }, 3 * 3_600],
    ['after 29 hours if it runs every night for up to four hours', NIGHTLY, 29 * 3_600],
    ['after 74 hours, including a weekend, if it runs on workdays', { every: 3 * 86_400 }, 74 * 3_600],
  ])('without a successful run becomes overdue %s', (_what, job, seconds) => {
    expect(maxSecondsBetweenSuccesses(job)).toBe(seconds);
  });

  test.each<[string, readonly JobRun[], readonly string[]]>([
    ['is not overdue after a success in time', [run('resolve', 14 * MINUTE_MS, 'succeeded')], []],
    ['is overdue after a success too long ago', [run('resolve', 16 * MINUTE_MS, 'succeeded')], ['resolve']],
    [
      'is not overdue after a long run that ended in time',
      [run('resolve', 20 * MINUTE_MS, 'succeeded', 8 * MINUTE_MS)],
      [],
    ],
    [
      'is overdue if its runs fail',
      [run('resolve', MINUTE_MS, 'failed'), run('resolve', 16 * MINUTE_MS, 'failed'), run('resolve', 0, 'running')],
      ['resolve'],
    ],
  ])('%s', async (_what, runs, expected) => {
    const tools = { runs: storeOf(...runs), marks: marksOf({ resolve: 0 }), watched: [EVERY_MINUTE], report };
    expect(await overdueJobs(tools, NOW_MS)).toEqual(expected);
  });

  test('without any run becomes overdue after its maximum time without a success', async () => {
    const tools = { runs: storeOf(), marks: marksOf(), watched: [NIGHTLY], report };
    expect(await overdueJobs(tools, NOW_MS - 29 * HOUR_MS)).toEqual([]);
    expect(await overdueJobs(tools, NOW_MS - MINUTE_MS)).toEqual([]);
    expect(await overdueJobs(tools, NOW_MS)).toEqual(['close-days']);
  });

  test.each<[string, readonly JobRun[]]>([
    ['that never had it', []],
    ['that removed it after its runs', [run('close-days', 60 * 24 * HOUR_MS, 'succeeded')]],
  ])('is not overdue immediately after it is added to an old deployment %s', async (_which, runs) => {
    const marks = marksOf({ [WATCHER]: 0 });
    const other = { ...EVERY_MINUTE, id: WATCHER };
    const check = (watched: readonly (typeof NIGHTLY)[], agoMs: number) =>
      overdueJobs({ runs: storeOf(...runs), marks, watched, report }, NOW_MS - agoMs);
    // A job with earlier runs was also watched at that time. The next check, without this job, ends the watch.
    if (runs.length > 0) await check([other, NIGHTLY], 90 * 24 * HOUR_MS);
    await check([other], 59 * 24 * HOUR_MS);
    expect(await check([other, NIGHTLY], 29 * HOUR_MS)).toEqual([WATCHER]);
    expect(await check([other, NIGHTLY], 0)).toEqual([WATCHER, 'close-days']);
  });

  test('stays overdue even after the rows of its last runs have expired', async () => {
    const marks = marksOf({ 'close-days': NOW_MS - 31 * 24 * HOUR_MS });
    expect(await overdueJobs({ runs: storeOf(), marks, watched: [NIGHTLY], report }, NOW_MS)).toEqual(['close-days']);
    expect(marks.moves).toBe(0);
  });
});

test.each([
  ['is overdue if its runs cannot be parsed', new SyntaxError('written by a future version'), ['carry', 'resolve']],
  ['is not overdue while the store is unavailable', new RetryableError('store_unavailable', 'away'), ['carry']],
])('a job %s, and other jobs are still checked', async (_which, error, expected) => {
  const watched = ['resolve', 'carry'].map((id) => ({ ...EVERY_MINUTE, id }));
  const reported: unknown[] = [];
  const tools = {
    runs: { listRuns: async (id: string) => (id === 'resolve' ? Promise.reject(error) : []) },
    marks: marksOf({ resolve: 0, carry: 0 }),
    watched,
    report: (each: unknown) => void reported.push(each),
  };
  expect((await overdueJobs(tools, NOW_MS)).toSorted()).toEqual(expected);
  expect(reported).toEqual([error]);
});

describe('the job that watches all jobs', () => {
  const context = (scheduledForMs: number) => ({ runId: `${WATCHER}:x` as const, scheduledForMs });
  const inner = { page: async () => ({ items: [] }), handle: async () => ({ done: 0, left: 0, failed: 0 }) };

  test.each([
    ['on whole minutes', 0],
    // The times of `rate(1 minute)` are counted from the creation of the schedule, so they need not be whole minutes.
    ['at second 43', 43_000],
    ['at the last second', 59_000],
  ])('reports once in five minutes, on the first page of a run that is scheduled %s', async (_when, phaseMs) => {
    const reported: (readonly string[])[] = [];
    const tools = {
      runs: storeOf(...JOBS.map(({ id }) => run(id, MINUTE_MS, 'succeeded'))),
      marks: marksOf(),
      watched: JOBS,
      clock: { nowMs: () => NOW_MS },
      reportOverdue: (jobs: readonly string[]) => void reported.push(jobs),
      report,
    };
    const job = withOverdueReport(inner, tools);
    for (let minute = 0; minute < 10; minute += 1)
      await job.page(undefined, 10, context(NOW_MS + phaseMs + minute * MINUTE_MS));
    await job.page('a cursor', 10, context(NOW_MS + phaseMs));
    expect(reported).toEqual([[], []]);
  });

  test('does its own work when the runs cannot be read, and reports the error', async () => {
    const error = new RetryableError('store_unavailable', 'the table is unavailable');
    const reported: unknown[] = [];
    const overdue: (readonly string[])[] = [];
    const tools = {
      runs: { listRuns: () => Promise.reject(error) },
      marks: marksOf(Object.fromEntries(JOBS.map(({ id }) => [id, 0]))),
      watched: JOBS,
      clock: { nowMs: () => NOW_MS },
      reportOverdue: (jobs: readonly string[]) => void overdue.push(jobs),
      report: (each: unknown) => void reported.push(each),
    };
    expect(await withOverdueReport(inner, tools).page(undefined, 10, context(NOW_MS))).toEqual({ items: [] });
    expect(reported).toEqual(JOBS.map(() => error));
    expect(overdue).toEqual([[]]);
  });
});
