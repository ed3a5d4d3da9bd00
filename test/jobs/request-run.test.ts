import { describe, expect, test } from '@jest/globals';
import { type JobEntry, jobEntry } from '../../lambdas/jobs/contract/jobs.ts';
import { requestRun } from '../../lambdas/jobs/use/request-run.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { FAULT_KINDS, FaultPlan } from '../support/fault-plan.ts';
import { World } from '../world/world.ts';
import { executorTools } from './job-fixtures.ts';

const NOW = Date.UTC(2026, 2, 1, 12);
const RUN_ID = 'close-days:2026-03-01T12:00:00Z';

function entry(): JobEntry {
  const found = jobEntry('close-days');
  invariant(found !== undefined, 'the job does not exist');
  return found;
}

const asks = ({ plan }: World) => plan.calls.filter((call) => call.endsWith('.ask')).length;

describe('the executor', () => {
  test('requests the run of the scheduled time, regardless of the current time', async () => {
    const world = new World();
    world.clock.advance(47_123);
    expect(await requestRun(executorTools(world, world.actor('a')), entry(), NOW)).toEqual({
      runId: RUN_ID,
      kind: 'asked',
    });
    expect(world.store.allRuns()).toMatchObject([{ runId: RUN_ID }]);
  });

  test('sends no request if an earlier invocation for the same scheduled time has already done so', async () => {
    const world = new World();
    await requestRun(executorTools(world, world.actor('a')), entry(), NOW);
    const again = await requestRun(executorTools(world, world.actor('b')), entry(), NOW);

    expect(again).toEqual({ runId: RUN_ID, kind: 'asked_before' });
    expect(asks(world)).toBe(1);
    expect(world.enqueued).toEqual([RUN_ID]);
  });

  test('starts one run if invoked ten times concurrently', async () => {
    const world = new World();
    const firings = Array.from({ length: 10 }, (_, index) =>
      requestRun(executorTools(world, world.actor(`a${index}`)), entry(), NOW),
    );
    expect(new Set((await Promise.all(firings)).map(({ runId }) => runId))).toEqual(new Set([RUN_ID]));
    expect(world.store.allRuns()).toHaveLength(1);
  });

  test('requests another run at the next scheduled time', async () => {
    const world = new World();
    for (const at of [NOW, NOW + 60_000]) {
      world.clock.advance(60_000);
      await requestRun(executorTools(world, world.actor('a')), entry(), at);
    }
    expect(world.store.allRuns()).toHaveLength(2);
  });

  test('throws the error of the route and stores nothing, so that the firing is redelivered', async () => {
    // The second call requests the run.
    const world = new World({ plan: new FaultPlan([{ point: 2, kind: 'throttle' }]) });
    await expect(requestRun(executorTools(world, world.actor('a')), entry(), NOW)).rejects.toMatchObject({
      name: 'RetryableError',
    });
    expect(world.store.consumptions()).toEqual([]);
    expect(world.store.allRuns()).toEqual([]);
  });
});

describe('the executor, fired again after a fault', () => {
  /** Number of calls that can fail: one read, the request to the route, five calls within the route, one record. */
  const POINTS = 8;
  const plans = Array.from({ length: POINTS }, (_, index) => index + 1).flatMap((point) =>
    FAULT_KINDS.map((kind) => [point, kind] as const),
  );

  test.each(plans)('requests one run, which is enqueued, despite a fault at call %i: %s', async (point, kind) => {
    const world = new World({ plan: new FaultPlan([{ point, kind }]) });
    await requestRun(executorTools(world, world.actor('a')), entry(), NOW).catch(() => undefined);
    world.plan.active = false;
    const again = await requestRun(executorTools(world, world.actor('b')), entry(), NOW);

    expect(again.runId).toBe(RUN_ID);
    expect(world.plan.calls.length).toBeGreaterThanOrEqual(POINTS);
    expect(world.store.allRuns()).toMatchObject([{ runId: RUN_ID, status: 'accepted' }]);
    expect(world.enqueued.length).toBeGreaterThanOrEqual(1);
    expect(await requestRun(executorTools(world, world.actor('c')), entry(), NOW)).toMatchObject({
      kind: 'asked_before',
    });
  });
});
