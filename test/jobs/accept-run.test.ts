import { describe, expect, test } from '@jest/globals';
import { type AcceptRun, acceptRun } from '../../lambdas/jobs/use/accept-run.ts';
import { fingerprintOf } from '../../lambdas/kernel/fingerprint.ts';
import { storedOperationId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { FAULT_KINDS, FaultPlan } from '../support/fault-plan.ts';
import { World } from '../world/world.ts';
import { clocked, endRun } from './job-fixtures.ts';

const JOB = 'close-days';
const NOW = Date.UTC(2026, 2, 1, 12);
const DAY = 24 * 3_600_000;
const RUN_ID = 'close-days:2026-03-01T12:00:00Z';

const byHand = (key: string, scheduledForMs?: number): AcceptRun => ({
  operationId: storedOperationId(`run_${key}`),
  fingerprint: fingerprintOf(systemDigest, { body: { scheduledForMs: scheduledForMs ?? null }, query: {} }),
  jobId: JOB,
  ...(scheduledForMs === undefined ? {} : { scheduledForMs }),
});

describe('accepting a run', () => {
  test('stores the run, enqueues it, and returns its id with status 202', async () => {
    const world = new World();
    const outcome = await acceptRun(world.toolsOf(world.actor('a')), clocked(JOB, NOW));

    expect(outcome).toMatchObject({ kind: 'first', runId: RUN_ID, answer: { status: 202 } });
    expect(world.store.allRuns()).toMatchObject([{ runId: RUN_ID, status: 'accepted', scheduledForMs: NOW }]);
    expect(world.enqueued).toEqual([RUN_ID]);
  });

  test('returns the stored response if it is retried, and enqueues the run again unless the run has ended', async () => {
    const world = new World();
    const accept = () => acceptRun(world.toolsOf(world.actor('a')), clocked(JOB, NOW));
    const first = await accept();
    world.clock.advance(3_600_000);
    const [run] = world.store.allRuns();
    const again = await accept();
    expect(again).toEqual({ ...first, kind: 'replay' });
    expect(world.enqueued).toEqual([RUN_ID, RUN_ID]);

    if (run !== undefined) await endRun(world, run);
    expect(await accept()).toEqual(again);
    expect(world.enqueued).toEqual([RUN_ID, RUN_ID]);
    expect(world.store.allRuns()).toMatchObject([{ status: 'succeeded' }]);
  });

  test('creates a single run for ten concurrent copies of a request, and all copies get the same response', async () => {
    const world = new World();
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, (_, index) => acceptRun(world.toolsOf(world.actor(`a${index}`)), clocked(JOB, NOW))),
    );
    expect(outcomes.filter(({ kind }) => kind === 'first')).toHaveLength(1);
    expect(new Set(outcomes.map((outcome) => ('answer' in outcome ? outcome.answer.body : outcome.kind))).size).toBe(1);
    expect(world.store.allRuns()).toHaveLength(1);
  });

  test('creates one run when the schedule and two operators request the same scheduled time', async () => {
    const world = new World();
    const asked = [clocked(JOB, NOW), byHand('anna', NOW), byHand('ben', NOW + 999)];
    const outcomes = await Promise.all(asked.map((each) => acceptRun(world.toolsOf(world.actor('a')), each)));

    expect(outcomes.map(({ kind }) => kind)).toEqual(['first', 'first', 'first']);
    expect(world.store.allRuns()).toHaveLength(1);
    expect(new Set(world.enqueued)).toEqual(new Set([RUN_ID]));
  });

  test('returns the result of a completed run even with a different key, and does not repeat the work', async () => {
    const world = new World();
    await acceptRun(world.toolsOf(world.actor('a')), clocked(JOB, NOW));
    for (const run of world.store.allRuns()) await endRun(world, run);
    const outcome = await acceptRun(world.toolsOf(world.actor('a')), byHand('anna', NOW));

    expect(outcome).toMatchObject({ kind: 'first', answer: { body: expect.stringContaining('"status":"succeeded"') } });
    expect(world.enqueued).toEqual([RUN_ID]);
  });

  test('uses the current second for a request without a time, and the same second for its retry', async () => {
    const world = new World();
    world.clock.advance(123);
    const first = await acceptRun(world.toolsOf(world.actor('a')), byHand('anna'));
    world.clock.advance(90_000);
    const again = await acceptRun(world.toolsOf(world.actor('a')), byHand('anna'));

    expect(first).toMatchObject({ kind: 'first', runId: RUN_ID });
    expect(again).toEqual({ ...first, kind: 'replay' });
    expect(world.store.allRuns()).toHaveLength(1);
    expect(world.enqueued).toEqual([RUN_ID, RUN_ID]);
  });

  test('refuses an idempotency key that was used with a different body, and enqueues nothing', async () => {
    const world = new World();
    await acceptRun(world.toolsOf(world.actor('a')), byHand('anna', NOW));
    const other = await acceptRun(world.toolsOf(world.actor('a')), byHand('anna', NOW - DAY));

    expect(other).toEqual({ kind: 'payload_mismatch' });
    expect(world.store.allRuns()).toHaveLength(1);
    expect(world.enqueued).toHaveLength(1);
  });

  test.each([
    ['ten minutes in the future', NOW + 600_000, 'first'],
    ['further in the future', NOW + 601_000, 'in_the_future'],
    ['thirty days ago', NOW - 30 * DAY, 'first'],
    ['longer ago', NOW - 30 * DAY - 1, 'too_old'],
  ])('responds to a scheduled time %s (%i in Unix milliseconds) with "%s"', async (_what, scheduledForMs, kind) => {
    const world = new World();
    expect(await acceptRun(world.toolsOf(world.actor('a')), byHand('anna', scheduledForMs))).toMatchObject({ kind });
    expect(world.store.allRuns()).toHaveLength(kind === 'first' ? 1 : 0);
  });

  test('replays the response even if the scheduled time is now too old', async () => {
    const world = new World();
    await acceptRun(world.toolsOf(world.actor('a')), byHand('anna', NOW - 30 * DAY));
    world.clock.advance(DAY);
    const again = await acceptRun(world.toolsOf(world.actor('a')), byHand('anna', NOW - 30 * DAY));
    expect(again).toMatchObject({ kind: 'replay' });
  });

  test('stores a record that is kept for at least thirty days', async () => {
    const world = new World();
    await acceptRun(world.toolsOf(world.actor('a')), clocked(JOB, NOW));
    const record = await world.store.jobRuns.readAccepted(clocked(JOB, NOW).operationId);
    expect(record?.expiresAtSeconds).toBeGreaterThanOrEqual((NOW + 30 * DAY) / 1000);
  });
});

describe('accepting a run, with one retry after a fault', () => {
  /** Number of calls that can fail: read, read, accept, read, enqueue. */
  const POINTS = 5;
  const plans = Array.from({ length: POINTS }, (_, index) => index + 1).flatMap((point) =>
    FAULT_KINDS.map((kind) => [point, kind] as const),
  );

  test.each(plans)('creates one run and enqueues it despite a fault at call %i: %s', async (point, kind) => {
    const world = new World({ plan: new FaultPlan([{ point, kind }]) });
    const first = await acceptRun(world.toolsOf(world.actor('a')), clocked(JOB, NOW)).catch(() => undefined);
    world.plan.active = false;
    const again = await acceptRun(world.toolsOf(world.actor('b')), clocked(JOB, NOW));

    expect(world.plan.calls.length).toBeGreaterThanOrEqual(POINTS);
    expect(world.store.allRuns()).toHaveLength(1);
    expect(world.enqueued.length).toBeGreaterThanOrEqual(1);
    expect(again).toMatchObject({ runId: RUN_ID });
    if (first !== undefined) expect(again).toEqual({ ...first, kind: 'replay' });
  });
});
