/** Tests the guarantee "one run". */
import { describe, expect, test } from '@jest/globals';
import {
  beforeEachCall,
  type HistoryRun,
  type HistorySurvey,
  type SurveyOptions,
  surveyFaults,
} from '../support/fault-histories.ts';
import { FaultPlan, type PlannedFault } from '../support/fault-plan.ts';
import { whole } from '../support/slice.ts';
import { JobWorld, type JobWorldOptions } from './job-world.ts';
import { cursorFirst, NaiveJobRuns } from './naive-job-runs.ts';

interface History extends Omit<JobWorldOptions, 'store'> {
  readonly without?: ConstructorParameters<typeof NaiveJobRuns>[0];
  /** Number of ticks of the schedule, a minute apart. Each tick fires twice. */
  readonly runs: number;
}

/** A pause of one worker just before call number `rivalAt`. All other workers continue during the pause. */
interface Pause {
  readonly rivalAt?: number;
  readonly heldMs?: number;
}

const MINUTE = 60_000;
/** Clock skews of the workers, up to the largest expected skew, in milliseconds. */
const CLOCKS: readonly (readonly [string, readonly number[]])[] = [
  ['that are right', [0]],
  ['that are first fast, then slow', [0, 5 * MINUTE, -5 * MINUTE]],
  ['that are first slow, then fast', [-5 * MINUTE, 0, 5 * MINUTE]],
];
/**
 * Durations of pauses, in milliseconds: no pause, until the message is visible again, and until the lease has expired.
 */
const HELD_MS = [0, 101_000, 200_000];

async function runHistory(
  history: History,
  faults: readonly PlannedFault[],
  { rivalAt, heldMs = 0 }: Pause = {},
): Promise<HistoryRun> {
  const { runs: ticks, without } = history;
  const plan = new FaultPlan(faults);
  const world = new JobWorld(
    { ...history, ...(without === undefined ? {} : { store: new NaiveJobRuns(without) }) },
    plan,
  );
  const runs = [];
  for (let tick = 0; tick < ticks; tick += 1) runs.push(await world.fire(tick));
  plan.holdAt(rivalAt, () => {
    world.clock.advance(heldMs);
    return world.drain();
  });
  await world.drain();
  const calls = [...plan.calls];
  await world.judge(runs);
  const before = await Promise.all(runs.map((run) => world.runNow(run)));
  world.sendLate(runs);
  await world.drain();
  const after = await Promise.all(runs.map((run) => world.runNow(run)));
  if (JSON.stringify(before) !== JSON.stringify(after)) world.violations.push('a late message changed a run');
  return { calls, violations: world.violations };
}

type Extent = Pick<SurveyOptions, 'faults' | 'oneOf' | 'until'>;

function survey(history: History, extent: Extent, races: readonly Pause[] = [{}]): Promise<HistorySurvey> {
  return surveyFaults<Pause>((planned, pause) => runHistory(history, planned, pause), { ...extent, races });
}

async function held(history: History, extent: Extent): Promise<HistorySurvey> {
  const { calls } = await runHistory(history, []);
  const pauses = HELD_MS.map((heldMs) => ({ heldMs }));
  return survey(history, extent, beforeEachCall(calls.length, pauses));
}

describe('two runs of five items with several workers', () => {
  test.each(CLOCKS)(
    'process each item once despite a single fault at any call, with clocks %s',
    async (_how, skews) => {
      for (const reordered of [false, true]) {
        const history = { runs: 2, items: 5, skews, reordered, doubled: 3 };
        const { histories, findings } = await survey(history, { faults: 1, oneOf: 23 });
        expect(findings.slice(0, 3)).toEqual([]);
        expect(histories).toBeGreaterThan(whole(250, { slice: 10 }));
      }
    },
  );

  test.each(CLOCKS)(
    'process each item once even if a worker pauses before any call, with clocks %s',
    async (_how, skews) => {
      const history = { runs: 2, items: 5, skews, doubled: 2 };
      const { histories, findings } = await held(history, { faults: 0, oneOf: 11 });
      expect(findings.slice(0, 3)).toEqual([]);
      expect(histories).toBeGreaterThan(whole(100, { slice: 14 }));
    },
  );

  test('process each item only once if each message has its own worker and all workers run concurrently', async () => {
    for (const [, skews] of CLOCKS) {
      const world = new JobWorld({ items: 5, skews, doubled: 6 });
      const runs = [await world.fire(0), await world.fire(1)];
      await world.drainSideBySide();
      await world.judge(runs);
      expect(world.violations).toEqual([]);
    }
  });
});

describe('one run of three items over two pages', () => {
  test('processes each item once despite a pair of faults at any two calls', async () => {
    const { histories, findings } = await survey({ runs: 1, items: 3 }, { faults: 2, oneOf: [1, 7, 13] });
    expect(findings.slice(0, 3)).toEqual([]);
    expect(histories).toBeGreaterThan(whole(2_000, { slice: 30 }));
  });

  test('processes each item only once, even if a worker pauses and any call has a fault', async () => {
    const history = { runs: 1, items: 3, skews: [0, 5 * MINUTE, -5 * MINUTE] };
    const { histories, findings } = await held(history, { faults: 1, oneOf: [7, 23] });
    expect(findings.slice(0, 3)).toEqual([]);
    expect(histories).toBeGreaterThan(whole(2_000, { slice: 25 }));
  });
});

/**
 * A history whose first run takes more than eight of its ten minutes. When that run ends, the second run has exceeded
 * its time limit according to a fast clock, but not according to a correct clock.
 */
const PATIENCE: History = { runs: 2, items: 17, jobId: 'resolve', lastSkews: [121_000, 0, 0], mayGiveUp: true };

test('a run never both fails and succeeds if one worker marks it as failed while another worker begins it', async () => {
  const { histories, findings } = await held(PATIENCE, { faults: 0, oneOf: 13 });
  expect(findings.slice(0, 3)).toEqual([]);
  expect(histories).toBeGreaterThan(whole(100, { slice: 8 }));
});

describe('defects that these histories detect', () => {
  test.each([
    ['a save that does not check the token', { without: 'token' }, 'a worker wrote after another worker took over'],
    ['a lock that does not check the lease', { without: 'lease' }, 'a lock was taken from the run that holds it'],
  ] as const)('%s', async (_what, fault, violation) => {
    const history = { runs: 2, items: 5, skews: [0], ...fault };
    const { findings } = await held(history, { faults: 0, until: violation });
    expect(findings.flatMap(({ violations }) => violations)).toContain(violation);
  });

  test('a save that does not check the version', async () => {
    const until = 'a run was changed after its end';
    const { findings } = await held({ ...PATIENCE, without: 'version' }, { faults: 0, until });
    expect(findings.flatMap(({ violations }) => violations)).toContain(until);
  });

  test('a cursor that is saved before its items are processed', async () => {
    const { findings } = await survey(
      { runs: 1, items: 3, work: cursorFirst },
      { faults: 1, until: 'items were never done' },
    );
    expect(findings.flatMap(({ violations }) => violations)).toContainEqual(
      expect.stringMatching(/items were never done$/),
    );
  });
});
