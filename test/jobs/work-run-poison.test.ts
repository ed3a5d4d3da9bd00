/** Tests the guarantee "one run". */
import { expect, test } from '@jest/globals';
import { JOB_MESSAGE_HIDDEN_SECONDS } from '../../lambdas/jobs/contract/runs.ts';
import { acceptedRun, type JobRun } from '../../lambdas/jobs/domain/job-run.ts';
import { type Job, ONE_DONE } from '../../lambdas/jobs/use/job.ts';
import { workRun } from '../../lambdas/jobs/use/work-run.ts';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { Stores } from '../world/stores.ts';
import { countingJob, LONG_JOB_ID, recordingObserver, recordOf } from './job-fixtures.ts';

async function acceptedOnWorker() {
  const clock = new SimulatedClock();
  const runs = new Stores(clock).jobRuns;
  const observer = recordingObserver();
  const accepted = acceptedRun(LONG_JOB_ID, clock.nowMs(), clock.nowMs());
  await runs.accept(recordOf(accepted), accepted);
  const read = () => runs.readRun(LONG_JOB_ID, accepted.runId);
  const tools = { runner: idempotentRunner, runs, observer, clock, tasks: { enqueue: async () => undefined } };
  const work = async (job: Job) => {
    const { version = 1 } = (await read()) ?? {};
    return workRun({ ...tools, jobs: { [LONG_JOB_ID]: job } }, { ...accepted, version }, 1);
  };
  return { clock, observer, read, work };
}

/** The argument of `make` simulates a crash of the worker: the call never returns, and the message is redelivered. */
async function deliver(make: (die: () => Promise<never>) => Job): Promise<{
  readonly run: JobRun;
  readonly deaths: number;
  readonly counts: Readonly<Record<string, number>>;
}> {
  const { clock, observer, read, work } = await acceptedOnWorker();
  let deaths = 0;
  for (let delivery = 0; delivery < 500; delivery += 1) {
    const death = Promise.withResolvers<'dead'>();
    const job = make(() => {
      death.resolve('dead');
      return new Promise<never>(() => undefined);
    });
    if ((await Promise.race([work(job), death.promise])) === 'dead') {
      deaths += 1;
      clock.advance(JOB_MESSAGE_HIDDEN_SECONDS * 1000);
    }
    const run = await read();
    if (run !== undefined && run.endedAtMs !== undefined) return { run, deaths, counts: observer.counts };
  }
  throw new Error('the run does not end');
}

test('an item is skipped after it has crashed five workers, and all other items are processed', async () => {
  const done = new Set<string>();
  const { run, deaths, counts } = await deliver((die) =>
    countingJob(60, async (item) => {
      if (item === '40') return die();
      done.add(item);
      return ONE_DONE;
    }),
  );
  expect(run).toMatchObject({ status: 'succeeded', skipped: ['40'], done: 59, failed: 1 });
  expect(done.size).toBe(59);
  expect(deaths).toBe(5);
  expect(counts).toEqual({ job_item_skipped: 1 });
});

test('several items that crash every worker are skipped, including the first and the last', async () => {
  const poison = new Set(['0', '7', '8', '9']);
  const { run, deaths } = await deliver((die) =>
    countingJob(10, async (item) => (poison.has(item) ? die() : ONE_DONE)),
  );
  expect(run).toMatchObject({ status: 'succeeded', skipped: ['0', '7', '8', '9'], done: 6, failed: 4 });
  expect(deaths).toBe(4 * 5);
});

test('a run fails if the read of a page crashes every worker', async () => {
  const { run, deaths, counts } = await deliver((die) => ({ page: die, handle: async () => ONE_DONE }));
  expect(run).toMatchObject({ status: 'failed', reason: 'page_kills_workers' });
  expect(deaths).toBe(7);
  expect(counts).toEqual({ job_failed: 1 });
});

test('no item is skipped while a page cannot be read for minutes, because no item crashed a worker', async () => {
  const { clock, observer, read, work } = await acceptedOnWorker();
  const backMs = clock.nowMs() + 5 * JOB_MESSAGE_HIDDEN_SECONDS * 1000;
  const items = countingJob(3);
  const job: Job = {
    ...items,
    page: async (...asked) => {
      if (clock.nowMs() < backMs) throw new RetryableError('books_away', 'not now');
      return items.page(...asked);
    },
  };
  for (let delivery = 0; delivery < 12; delivery += 1) {
    await work(job).catch(() => clock.advance(JOB_MESSAGE_HIDDEN_SECONDS * 1000));
  }
  expect(await read()).toMatchObject({
    status: 'failed',
    reason: 'page_unreadable: books_away',
    skipped: [],
  });
  expect(observer.counts).toEqual({ job_failed: 1 });
});
