import { expect, test } from '@jest/globals';
import * as answers from '../../lambdas/api-docs/job-answers.ts';
import * as shown from '../../lambdas/api-docs/job-examples.ts';
import { JobsDesk, RUNS } from '../support/jobs-desk.ts';
import { dataOf } from '../support/ledger-desk.ts';

test('the examples of jobs in the documents are what is answered, and what is described', async () => {
  const desk = new JobsDesk();
  const accepted = await desk.run('by-time', shown.startRunExamples.time.value);
  expect(accepted.body).toEqual(shown.acceptedRunExamples.accepted.value);
  const now = await desk.run('for-now', shown.startRunExamples.now.value);
  expect(now.body).toEqual(shown.acceptedRunExamples.accepted.value);

  const [run] = desk.world.runs.allRuns();
  if (run === undefined) throw new Error('no run was accepted');
  const { scheduledForMs: atMs } = run;
  const lock = await desk.world.runs.lock(run.jobId, run.runId, { nowMs: atMs, leaseExpiresAtMs: atMs + 1 });
  if (lock === undefined) throw new Error('the lock is held');
  const [startedAtMs, endedAtMs] = [atMs + 2_500, atMs + 5_000];
  const ended = { ...run, status: 'succeeded', startedAtMs, endedAtMs, done: 12, left: 1, version: 2 } as const;
  await desk.world.runs.save(ended, lock, atMs);

  const one = await desk.get(`${RUNS}/${run.runId}`);
  const runs = await desk.get(RUNS);
  const jobs = await desk.get('/v1/admin/jobs');
  expect(one.body).toEqual(shown.runExamples.succeeded.value);
  expect(runs.body).toEqual(shown.runListExamples.one.value);
  const [example] = shown.jobListExamples.nightly.value.data;
  expect(dataOf(jobs).find(({ id }) => id === example?.id)).toEqual(example);

  expect(answers.jobRun.strict().parse(one.body)).toEqual(one.body);
  expect(answers.jobRunList.strict().parse(runs.body)).toEqual(runs.body);
  expect(answers.jobList.strict().parse(jobs.body)).toEqual(jobs.body);
});
