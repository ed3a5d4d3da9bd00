import { invariant } from '../../lambdas/kernel/invariant.ts';
import { Api, dataOf, RUNS } from '../world/api.ts';
import type { CapturedExamples } from './captured-examples.ts';

export async function captureJobs(examples: CapturedExamples): Promise<void> {
  const harness = new Api();
  const now = examples.declared('startJobRun', 'now');
  const time = examples.declared('startJobRun', 'time');
  examples.answer('startJobRun', 'accepted', 'Accepted', await harness.run('by-time', time));
  await harness.run('for-now', now);
  await endRun(harness);

  const { body: list, status } = await harness.get('/v1/admin/jobs');
  const data = dataOf({ body: list }).filter(({ id }) => id === 'close-days');
  examples.answer('listJobs', 'nightly', 'One job of the list', { status, body: { ...list, data } });
  examples.answer('getJob', 'nightly', 'A job that has run once', await harness.get('/v1/admin/jobs/close-days'));
  examples.answer('listJobRuns', 'one', 'One run', await harness.get(RUNS));
  const run = await harness.get(`${RUNS}/close-days:2026-03-01T12:00:00Z`);
  examples.answer('getJobRun', 'succeeded', 'The run has ended', run);
}

/**
 * Saves the only run as completed, as if a worker had started it 2.5 s after its scheduled time and finished it 2.5 s
 * later.
 */
async function endRun({ store }: Api): Promise<void> {
  const runs = store.jobRuns;
  const [run, ...more] = store.allRuns();
  invariant(run !== undefined && more.length === 0, 'the two requests returned different runs');
  const { scheduledForMs: atMs } = run;
  const lock = await runs.lock(run.jobId, run.runId, { nowMs: atMs, leaseExpiresAtMs: atMs + 1 });
  invariant(lock !== undefined, 'another run holds the lock');
  const [startedAtMs, endedAtMs] = [atMs + 2_500, atMs + 5_000];
  const ended = { ...run, status: 'succeeded', startedAtMs, endedAtMs, done: 12, left: 1, version: 2 } as const;
  await runs.save(ended, lock, atMs);
}
