/** Tests the guarantee "one run". */
import { describe, expect, test } from '@jest/globals';
import { acceptedRun, type JobRun, runIdOf } from '../../lambdas/jobs/domain/job-run.ts';
import { type Job, ONE_DONE, ONE_LEFT } from '../../lambdas/jobs/use/job.ts';
import type { JobRunStore } from '../../lambdas/jobs/use/job-runs.ts';
import { type Worked, workRun } from '../../lambdas/jobs/use/work-run.ts';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { Stores } from '../world/stores.ts';
import { countingJob, JOB_ID, recordingObserver, recordOf } from './job-fixtures.ts';

const MINUTE = 60_000;

class Bench {
  readonly clock = new SimulatedClock();
  readonly runs: JobRunStore = new Stores(this.clock).jobRuns;
  readonly observer = recordingObserver();
  readonly sent: { runId: string; delaySeconds: number }[] = [];
  readonly job: Job;

  constructor(job: Job) {
    this.job = job;
  }

  async accept(minutesAgo = 0): Promise<JobRun> {
    const nowMs = this.clock.nowMs();
    const run = acceptedRun(JOB_ID, nowMs - minutesAgo * MINUTE, nowMs);
    await this.runs.accept(recordOf(run), run);
    return run;
  }

  /** By default, the message has the run's version and was delivered once. */
  async work(
    { runId }: Pick<JobRun, 'runId'>,
    message: { version?: number; receives?: number } = {},
    job = this.job,
  ): Promise<Worked> {
    const { runs, observer, clock, sent } = this;
    const { version = (await runs.readRun(JOB_ID, runId))?.version ?? 1, receives = 1 } = message;
    const tasks = {
      enqueue: async ({ runId: id }: Pick<JobRun, 'runId'>, delaySeconds: number) =>
        void sent.push({ runId: id, delaySeconds }),
    };
    return workRun(
      { runner: idempotentRunner, runs, tasks, observer, clock, jobs: { [JOB_ID]: job } },
      { jobId: JOB_ID, runId, version },
      receives,
    );
  }

  async read({ runId }: JobRun): Promise<JobRun> {
    const run = await this.runs.readRun(JOB_ID, runId);
    if (run === undefined) throw new Error('the run does not exist');
    return run;
  }

  async drain(run: JobRun, most = 100): Promise<readonly Worked[]> {
    const results: Worked[] = [];
    for (let left = most; left > 0; left -= 1) {
      results.push(await this.work(run));
      if (this.sent.splice(0).length === 0) return results;
    }
    throw new Error('the queue never becomes empty');
  }
}

describe('a run', () => {
  test('processes all items in order and succeeds', async () => {
    const done: string[] = [];
    const bench = new Bench(countingJob(5, async (item) => (done.push(item), item === '3' ? ONE_LEFT : ONE_DONE)));
    const run = await bench.accept();
    expect(await bench.drain(run)).toEqual(['succeeded']);
    expect(done).toEqual(['0', '1', '2', '3', '4']);
    expect(await bench.read(run)).toMatchObject({ status: 'succeeded', done: 4, left: 1, failed: 0 });
    expect(bench.observer.counts).toEqual({});
  });

  test('succeeds without items', async () => {
    const bench = new Bench(countingJob(0));
    expect(await bench.drain(await bench.accept())).toEqual(['succeeded']);
  });

  test('continues with one message for each hundred items', async () => {
    const bench = new Bench(countingJob(250));
    const run = await bench.accept();
    expect(await bench.drain(run)).toEqual(['continued', 'continued', 'succeeded']);
    expect((await bench.read(run)).done).toBe(250);
  });

  test('ends a page after one minute, and then continues after the last processed item', async () => {
    const bench = new Bench(
      countingJob(5, async () => {
        bench.clock.advance(25_000);
        return ONE_DONE;
      }),
    );
    const run = await bench.accept();
    expect(await bench.work(run)).toBe('continued');
    expect(await bench.read(run)).toMatchObject({ cursor: '2', done: 3 });
    expect(await bench.work(run)).toBe('succeeded');
    expect(await bench.read(run)).toMatchObject({ done: 5 });
  });

  test('gives each item a deadline, and processes at least one item per page', async () => {
    const limits: number[] = [];
    const bench = new Bench(
      countingJob(2, async (_item, deadlineMs) => {
        limits.push(deadlineMs - bench.clock.nowMs());
        bench.clock.advance(2 * MINUTE);
        return ONE_DONE;
      }),
    );
    expect(await bench.drain(await bench.accept())).toEqual(['continued', 'succeeded']);
    expect(limits).toEqual([MINUTE, MINUTE]);
  });

  test('continues after pages that have no items', async () => {
    const job: Job = {
      page: async (cursor) => (cursor === 'b' ? { items: [] } : { items: [], next: cursor === undefined ? 'a' : 'b' }),
      handle: async () => ONE_DONE,
    };
    const bench = new Bench(job);
    expect(await bench.drain(await bench.accept())).toEqual(['continued', 'continued', 'succeeded']);
  });

  test('processes several items concurrently if its job allows that, and then saves the cursor of the last one', async () => {
    let under = 0;
    let most = 0;
    const job = countingJob(10, async () => {
      under += 1;
      most = Math.max(most, under);
      await Promise.resolve();
      under -= 1;
      bench.clock.advance(20_000);
      return ONE_DONE;
    });
    const bench = new Bench({ ...job, atOnce: 4 });
    const run = await bench.accept();
    expect(await bench.work(run)).toBe('continued');
    expect(most).toBe(4);
    expect(await bench.read(run)).toMatchObject({ cursor: '3', done: 4 });
  });

  test('counts and reports items that throw, and continues', async () => {
    const bench = new Bench(
      countingJob(3, async (item) => {
        if (item === '1') throw new RetryableError('vendor_away', 'not now');
        return ONE_DONE;
      }),
    );
    const run = await bench.accept();
    expect(await bench.drain(run)).toEqual(['succeeded']);
    expect(await bench.read(run)).toMatchObject({ done: 2, failed: 1, failedItems: ['1'] });
    expect(bench.observer.reports).toEqual([['1', expect.any(RetryableError)]]);
    expect(bench.observer.counts).toEqual({ job_item_failed: 1 });
  });

  test('stays unchanged if it has ended or was never accepted, and its lock stays free', async () => {
    const bench = new Bench(countingJob(1));
    const run = await bench.accept();
    await bench.drain(run);
    expect(await bench.work(run)).toBe('nothing_to_do');
    expect(await bench.work({ runId: runIdOf(JOB_ID, 0) })).toBe('nothing_to_do');
    expect((await bench.read(run)).version).toBe(3);
    expect(await bench.work(await bench.accept(1))).toBe('succeeded');
  });

  test('is refused by a worker that does not have its job, with an error that names the job', async () => {
    const bench = new Bench(countingJob(1));
    const { runs, observer, clock } = bench;
    const tools = {
      runner: idempotentRunner,
      runs,
      observer,
      clock,
      tasks: { enqueue: async () => undefined },
      jobs: {},
    };
    const message = { jobId: JOB_ID, runId: runIdOf(JOB_ID, 0), version: 1 };
    await expect(workRun(tools, message, 1)).rejects.toThrow('this worker has no job "resolve"');
    await expect(workRun(tools, { ...message, jobId: 'nonsense' }, 1)).rejects.toThrow(
      'this worker has no job "nonsense"',
    );
  });
});

describe('of two runs of one job,', () => {
  test('the second waits until the first has ended, and then starts', async () => {
    const bench = new Bench(countingJob(150));
    const [first, second] = [await bench.accept(1), await bench.accept()];
    expect(await bench.work(first)).toBe('continued');
    expect(await bench.work(second)).toBe('waiting');
    expect(bench.sent.at(-1)).toEqual({ runId: second.runId, delaySeconds: 20 });
    expect(await bench.work(first)).toBe('succeeded');
    expect(await bench.drain(second)).toEqual(['continued', 'succeeded']);
  });

  test('the second sends no message if another worker has changed that run in the meantime', async () => {
    const bench = new Bench(countingJob(150));
    const [first, second] = [await bench.accept(1), await bench.accept()];
    await bench.work(first);
    bench.sent.length = 0;
    bench.runs.save = async () => false;
    expect(await bench.work(second)).toBe('fenced');
    expect(bench.sent).toEqual([]);
  });

  test('the second fails with a reason if the first holds the lock until the time limit of the second', async () => {
    const bench = new Bench(countingJob(150));
    const [first, second] = [await bench.accept(1), await bench.accept()];
    bench.clock.advance(9 * MINUTE);
    expect(await bench.work(first)).toBe('continued');
    bench.clock.advance(MINUTE + 1);
    expect(await bench.work(second)).toBe('failed');
    expect(await bench.read(second)).toMatchObject({ status: 'failed', reason: 'lock_not_available' });
    expect(bench.observer.counts).toEqual({ job_failed: 1 });
    // The failure of the second run does not affect the first run.
    expect(await bench.work(first)).toBe('succeeded');
  });

  test('the second takes over when the lease of the first has expired', async () => {
    const bench = new Bench(countingJob(150));
    const [first, second] = [await bench.accept(1), await bench.accept()];
    await bench.work(first);
    bench.clock.advance(151_000);
    expect(await bench.work(second)).toBe('continued');
    expect(await bench.work(first)).toBe('waiting');
  });
});

test('a run that exceeds its time limit fails, and releases its lock', async () => {
  const bench = new Bench(countingJob(250));
  const run = await bench.accept(1);
  await bench.work(run);
  bench.clock.advance(10 * MINUTE + 1);
  expect(await bench.work(run)).toBe('failed');
  expect(await bench.read(run)).toMatchObject({ status: 'failed', reason: 'overdue', done: 100 });
  expect(await bench.work(await bench.accept())).toBe('continued');
});

test('a page that cannot be read is retried each time its message is redelivered; finally the run fails', async () => {
  const job: Job = {
    page: async () => {
      throw new RetryableError('books_away', 'not now');
    },
    handle: async () => ONE_DONE,
  };
  const bench = new Bench(job);
  const run = await bench.accept();
  for (let time = 1; time <= 4; time += 1) {
    await expect(bench.work(run)).rejects.toThrow('not now');
    // The message was redelivered too early, so it waits until the first worker has certainly ended.
    expect(await bench.work(run)).toBe('waiting');
    expect(bench.sent.pop()?.delaySeconds).toBe(90);
    bench.clock.advance(100_000);
  }
  expect(await bench.work(run)).toBe('failed');
  expect(await bench.read(run)).toMatchObject({ reason: 'page_unreadable: books_away', attempts: 3 });
});

describe('a message older than the current page of its run', () => {
  test('causes no work, because the worker of the message’s own page has sent the next message', async () => {
    const bench = new Bench(countingJob(250));
    const run = await bench.accept();
    expect(await bench.work(run)).toBe('continued');
    expect(await bench.work(run, { version: 1 })).toBe('nothing_to_do');
    expect(bench.sent).toHaveLength(1);
  });

  test('causes the next message to be sent when it is redelivered, because the first worker may have crashed before the send', async () => {
    const bench = new Bench(countingJob(250));
    const run = await bench.accept();
    expect(await bench.work(run)).toBe('continued');
    bench.sent.pop();
    expect(await bench.work(run, { version: 1, receives: 2 })).toBe('waiting');
    expect(bench.sent.map(({ delaySeconds }) => delaySeconds)).toEqual([0]);
    expect(await bench.drain(run)).toEqual(['continued', 'succeeded']);
  });

  test('causes the next message to be sent at its first delivery, too, if a worker began its page but did not end it', async () => {
    const bench = new Bench(countingJob(1));
    const dying: Job = { ...bench.job, page: async () => Promise.reject(new RetryableError('books_away', 'not now')) };
    const run = await bench.accept();
    await expect(bench.work(run, {}, dying)).rejects.toThrow('not now');
    bench.clock.advance(100_000);
    expect(await bench.work(run, { version: 1 })).toBe('waiting');
    expect(await bench.work(run)).toBe('succeeded');
  });

  test('causes the next message to be sent when it is redriven, so that the run ends', async () => {
    const bench = new Bench(countingJob(250));
    const run = await bench.accept();
    expect(await bench.work(run)).toBe('continued');
    bench.sent.pop();
    bench.clock.advance(6 * 60 * MINUTE);
    expect(await bench.work(run, { version: 1 })).toBe('waiting');
    expect(bench.sent).toHaveLength(1);
    expect(await bench.work(run)).toBe('failed');
    expect(await bench.read(run)).toMatchObject({ status: 'failed', reason: 'overdue', done: 100 });
  });

  test('starts no page if the run advanced while the message’s worker acquired the lock', async () => {
    const done: string[] = [];
    const bench = new Bench(countingJob(250, async (item) => (done.push(item), ONE_DONE)));
    const run = await bench.accept();
    const lock = bench.runs.lock.bind(bench.runs);
    let isFirst = true;
    bench.runs.lock = async (...asked) => {
      if (isFirst) {
        isFirst = false;
        expect(await bench.work(run)).toBe('continued');
      }
      return lock(...asked);
    };
    expect(await bench.work(run, { version: 1 })).toBe('nothing_to_do');
    expect([done.length, bench.sent.length]).toEqual([100, 1]);
  });

  test('is dropped instead of waiting for the lock, so only one of many messages keeps waiting', async () => {
    const bench = new Bench(countingJob(150));
    const [first, second] = [await bench.accept(1), await bench.accept()];
    await bench.work(first);
    bench.sent.length = 0;
    const results: Worked[] = [];
    for (let message = 1; message <= 5; message += 1) results.push(await bench.work(second, { version: 1 }));
    expect(results).toEqual(['waiting', ...Array.from({ length: 4 }, () => 'nothing_to_do')]);
    expect(bench.sent).toHaveLength(1);
  });
});

test('concurrent messages count as one attempt, and exactly one worker completes the run', async () => {
  const done: string[] = [];
  const bench: Bench = new Bench(countingJob(3, async (item) => (done.push(item), ONE_DONE)));
  const run = await bench.accept();
  const results = await Promise.all(Array.from({ length: 12 }, () => bench.work(run)));
  expect(results.filter((each) => each === 'succeeded')).toHaveLength(1);
  expect(results.filter((each) => each === 'fenced')).toHaveLength(11);
  expect(await bench.read(run)).toMatchObject({ status: 'succeeded', done: 3, skipped: [] });
  expect(bench.sent).toEqual([]);
});

describe('a worker after a takeover', () => {
  test('writes and sends nothing if a second worker of its run took over; the second worker continues', async () => {
    let rival: Promise<Worked> | undefined;
    const done: string[] = [];
    const bench: Bench = new Bench(
      countingJob(3, async (item) => {
        if (item === '1' && rival === undefined) {
          bench.clock.advance(100_000);
          rival = bench.work(run);
          await rival;
        }
        done.push(item);
        return ONE_DONE;
      }),
    );
    const run = await bench.accept();
    expect(await bench.work(run)).toBe('fenced');
    expect(await rival).toBe('succeeded');
    expect(await bench.read(run)).toMatchObject({ status: 'succeeded', done: 3 });
    expect(bench.sent).toEqual([]);
    expect(bench.observer.counts).toEqual({ job_fenced: 1 });
  });

  test('writes nothing if another run took over, and sends a message to continue later', async () => {
    let slept = false;
    const bench: Bench = new Bench(
      countingJob(150, async () => {
        if (!slept) {
          slept = true;
          bench.clock.advance(151_000);
          await bench.work(second);
        }
        return ONE_DONE;
      }),
    );
    const [first, second] = [await bench.accept(1), await bench.accept()];
    expect(await bench.work(first)).toBe('fenced');
    expect(bench.sent.map(({ runId }) => runId)).toEqual([second.runId, first.runId]);
    expect(await bench.read(first)).toMatchObject({ status: 'running', done: 0 });
    expect(await bench.work(second)).toBe('succeeded');
    expect(await bench.drain(first)).toEqual(['continued', 'succeeded']);
  });
});
