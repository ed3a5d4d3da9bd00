import { beforeEach, describe, expect, test } from '@jest/globals';
import {
  acceptedRun,
  type JobRun,
  withFailure,
  withPageDone,
  withPageStarted,
} from '../../lambdas/jobs/domain/job-run.ts';
import type { JobLock, JobRunStore } from '../../lambdas/jobs/use/job-runs.ts';
import { type OperationId, ownerToken } from '../../lambdas/kernel/ids.ts';
import type { EffectRecord } from '../../lambdas/once/domain/idempotency.ts';

const T0 = Date.UTC(2026, 2, 1, 12);
const MINUTE = 60_000;
const LEASE = 2 * MINUTE;

/** The tests run against DynamoDB in memory and over its API. */
export function describeJobRuns(name: string, make: () => Promise<JobRunStore>): void {
  let made = 0;
  let store: JobRunStore;
  let jobId: string;
  let run: JobRun;
  let other: JobRun;

  beforeEach(async () => {
    store = await make();
    made += 1;
    jobId = `suite-${process.pid}-${made}`;
    run = acceptedRun(jobId, T0, T0 + 5_000);
    other = acceptedRun(jobId, T0 + MINUTE, T0 + MINUTE);
  });

  const record = (changes: Partial<EffectRecord> = {}): EffectRecord => ({
    operationId: `job_${jobId}` as OperationId,
    owner: ownerToken('anna'),
    recordedAtMs: T0,
    expiresAtSeconds: T0 / 1000 + 2_592_000,
    ...changes,
  });
  const accept = (accepted: JobRun, key: string = accepted.runId) =>
    store.accept(record({ operationId: `job_${key}` as OperationId }), accepted);
  const lock = (runId: JobRun['runId'], nowMs: number) =>
    store.lock(jobId, runId, { nowMs, leaseExpiresAtMs: nowMs + LEASE });
  const locked = async (runId: JobRun['runId'], nowMs: number): Promise<JobLock> => {
    const taken = await lock(runId, nowMs);
    if (taken === undefined) throw new Error('another run holds the lock');
    return taken;
  };
  const read = () => store.readRun(jobId, run.runId);
  const end = (from: JobRun): JobRun => withPageDone(from, { counts: { done: 1, left: 0, failed: 0 }, items: 1 }, T0);

  describe(`the ${name} job-run store: accepting a run`, () => {
    test('stores the record and the run', async () => {
      expect(await store.accept(record(), run)).toEqual({ kind: 'recorded' });
      expect(await store.readAccepted(record().operationId)).toEqual(record());
      expect(await read()).toEqual(run);
      expect(await store.readAccepted('job_unknown' as OperationId)).toBeUndefined();
      expect(await store.readRun(jobId, other.runId)).toBeUndefined();
    });

    test('accepts one of many concurrent requests, and returns the record of that request to the others', async () => {
      const owners = Array.from({ length: 6 }, (_, index) => ownerToken(`owner-${index}`));
      const outcomes = await Promise.all(owners.map((owner) => store.accept(record({ owner }), run)));
      expect(outcomes.filter(({ kind }) => kind === 'recorded')).toHaveLength(1);
      const winner = owners[outcomes.findIndex(({ kind }) => kind === 'recorded')];
      for (const outcome of outcomes) {
        if (outcome.kind === 'recorded_before') expect(outcome.record.owner).toBe(winner);
      }
    });

    test('does not change a run if it is requested again with another key', async () => {
      await accept(run);
      const begun = withPageStarted(run, T0);
      await store.save(begun, await locked(run.runId, T0), T0 + LEASE);
      expect(await accept(run, 'by-hand')).toEqual({ kind: 'recorded' });
      expect(await store.readAccepted('job_by-hand' as OperationId)).toBeDefined();
      expect(await read()).toEqual(begun);
    });

    test('finds a run only under its own id', async () => {
      await accept(run);
      const others = `${'x'.repeat(jobId.length)}${run.runId.slice(jobId.length)}` as JobRun['runId'];
      expect(await store.readRun(jobId, others)).toBeUndefined();
    });

    test('lists runs page by page, the newest scheduled time first', async () => {
      for (const minute of [0, 2, 1, 3]) await accept(acceptedRun(jobId, T0 + minute * MINUTE, T0));
      const minutes = async (page: { limit: number; fromMs?: number; beforeMs?: number }) =>
        (await store.listRuns(jobId, page)).map(({ scheduledForMs }) => (scheduledForMs - T0) / MINUTE);
      expect(await minutes({ limit: 3 })).toEqual([3, 2, 1]);
      expect(await minutes({ limit: 3, beforeMs: T0 + MINUTE })).toEqual([0]);
      expect(await minutes({ limit: 3, beforeMs: T0 + MINUTE + 1 })).toEqual([1, 0]);
      expect(await minutes({ limit: 3, fromMs: T0 + 2 * MINUTE })).toEqual([3, 2]);
      expect(await minutes({ limit: 3, fromMs: T0 + MINUTE, beforeMs: T0 + 3 * MINUTE })).toEqual([2, 1]);
      expect(await minutes({ limit: 3, fromMs: T0 + MINUTE, beforeMs: T0 + MINUTE })).toEqual([]);
    });
  });

  describe(`the ${name} job-run store: the lock of a job`, () => {
    test('is held by only one of two runs', async () => {
      expect(await lock(run.runId, T0)).toEqual({
        name: jobId,
        runId: run.runId,
        token: 1,
        leaseExpiresAtMs: T0 + LEASE,
      });
      expect(await lock(other.runId, T0 + LEASE - 1)).toBeUndefined();
      expect(await lock(other.runId, T0 + LEASE)).toMatchObject({ runId: other.runId, token: 2 });
    });

    test('can be acquired again by the run that holds it, with a greater token each time', async () => {
      const tokens = [];
      for (let time = 0; time < 3; time += 1) tokens.push((await lock(run.runId, T0))?.token);
      expect(tokens).toEqual([1, 2, 3]);
    });

    test('is acquired by only one of several concurrent runs, and each acquisition has a new token', async () => {
      const runs = Array.from({ length: 6 }, (_, minute) => acceptedRun(jobId, T0 + minute * MINUTE, T0));
      const taken = await Promise.all(runs.map(({ runId }) => lock(runId, T0)));
      expect(taken.filter((each) => each !== undefined)).toHaveLength(1);
      const own = taken.find((each) => each !== undefined)?.runId ?? run.runId;
      const again = await Promise.all(runs.map(() => lock(own, T0)));
      expect(new Set(again.map((each) => each?.token)).size).toBe(6);
    });
  });

  describe(`the ${name} job-run store: saving a run`, () => {
    test('stores every field of a run', async () => {
      await accept(run);
      const full: JobRun = {
        ...withPageStarted(run, T0),
        cursor: 'after',
        oneByOne: 7,
        skipped: ['one', 'two'],
        done: 4,
        left: 2,
        failed: 1,
      };
      expect(await store.save(full, await locked(run.runId, T0), T0 + LEASE)).toBe(true);
      expect(await read()).toEqual(full);
      const failed = withFailure(full, 'overdue', T0);
      expect(await store.save(failed, await locked(run.runId, T0), T0 + LEASE)).toBe(true);
      expect(await read()).toEqual(failed);
    });

    test('is refused if another worker of the same run has acquired the lock since', async () => {
      await accept(run);
      const stale = await locked(run.runId, T0);
      const begun = withPageStarted(run, T0);
      const newer = await locked(run.runId, T0);
      expect(await store.save(begun, stale, T0 + LEASE)).toBe(false);
      expect(await read()).toEqual(run);
      expect(await store.save(begun, newer, T0 + LEASE)).toBe(true);
    });

    test('is refused after another run has acquired the lock', async () => {
      await accept(run);
      const stale = await locked(run.runId, T0);
      await locked(other.runId, T0 + LEASE);
      expect(await store.save(withPageStarted(run, T0), stale, T0 + 2 * LEASE)).toBe(false);
      expect(await read()).toEqual(run);
    });

    test('is refused when the run has changed', async () => {
      await accept(run);
      const held = await locked(run.runId, T0);
      const begun = withPageStarted(run, T0);
      await store.save(begun, held, T0 + LEASE);
      const again = { ...withPageDone(run, { counts: { done: 9, left: 0, failed: 0 }, items: 9 }, T0) };
      expect(await store.save({ ...again, version: 5 }, held, T0 + LEASE)).toBe(false);
      expect(await read()).toEqual(begun);
    });

    test('extends the lease', async () => {
      await accept(run);
      const held = await locked(run.runId, T0);
      await store.save(withPageStarted(run, T0), held, T0 + 2 * LEASE);
      expect(await lock(other.runId, T0 + LEASE + 1)).toBeUndefined();
      expect(await lock(other.runId, T0 + 2 * LEASE)).toBeDefined();
    });

    test('releases the lock if the run has ended; the next token is greater', async () => {
      await accept(run);
      const held = await locked(run.runId, T0);
      const begun = withPageStarted(run, T0);
      await store.save(begun, held, T0 + LEASE);
      expect(await store.save(end(begun), held, T0 + LEASE)).toBe(true);
      expect(await lock(other.runId, T0 + 1)).toMatchObject({ runId: other.runId, token: held.token + 1 });
    });

    test('takes effect only once if a worker makes it several times concurrently', async () => {
      await accept(run);
      const held = await locked(run.runId, T0);
      const begun = withPageStarted(run, T0);
      const saves = Array.from({ length: 6 }, (_, done) => store.save({ ...begun, done }, held, T0 + LEASE));
      // Return values are not checked, because a worker never saves concurrently. Only the number of writes that take
      // effect matters.
      await Promise.all(saves);
      expect((await read())?.version).toBe(2);
    });
  });
}
