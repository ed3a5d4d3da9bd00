/** Tests the guarantee "returned money". */
import { describe, expect, test } from '@jest/globals';
import { beforeEachCall, type HistoryRun, surveyFaults } from '../support/fault-histories.ts';
import { Actor, FaultPlan, type PlannedFault } from '../support/fault-plan.ts';
import { sliceOf, whole } from '../support/slice.ts';
import { DAY_MS, HOUR_MS, HoldWorld } from './hold-world.ts';

/** Acts on the hold right before one of the calls of the job `expire-authorizations`. */
type Rival = (world: HoldWorld, plan: FaultPlan) => Promise<unknown>;

const RIVALS: Readonly<Record<string, Rival>> = {
  'a capture': (world) => world.ask({ kind: 'capture' }),
  'a partial capture': (world) => world.ask({ kind: 'capture', amountMinor: 300 }),
  'a delayed capture': async (world) => {
    world.processor.inside.delayNext(2);
    await world.ask({ kind: 'capture' });
    world.processor.inside.delayNext(0);
  },
  'the processor’s own expiry': (world) => world.expireAtProcessor(),
  'a capture in the processor’s dashboard, with its callback': async (world) => {
    const { chargeId, processor } = world;
    if (processor.charges(world.request.paymentId)[0]?.status === 'authorized')
      await processor.inside.capture(chargeId);
    await world.callBack();
  },
  'a concurrent duplicate of the run': (world, plan) => world.expireOrDie(new Actor('doubled', plan)),
};

/** The maximum number of calls in a run, plus one. */
const MAX_POINTS = 14;

async function runHistory(faults: readonly PlannedFault[], rivalAt?: number, rival?: Rival): Promise<HistoryRun> {
  const world = new HoldWorld();
  await world.authorize();
  world.clock.advance(7 * DAY_MS + 3 * HOUR_MS);
  const plan = new FaultPlan(faults);
  const violations: string[] = [];
  const look = async (when: string, quiet = false): Promise<void> => {
    violations.push(...(await world.violations(quiet)).map((violation) => `${when}: ${violation}`));
  };
  plan.holdAt(rivalAt, async () => {
    await rival?.(world, plan);
    await look('after the rival');
  });
  await world.expireOrDie(new Actor('job', plan));
  await look('after the run');
  await world.processor.inside.deliverDelayed();
  world.clock.advance(HOUR_MS);
  await world.expireOrDie(new Actor('next run', plan));
  await look('after the next run');
  const calls = plan.calm();
  for (let hour = 1; hour <= 3 && world.store.holdsLeft().length > 0; hour += 1) {
    await world.resolveForAnHour();
    await world.expire();
    await look(`after ${hour} hours`);
  }
  await look('without faults', true);
  return { calls, violations };
}

describe('a hold', () => {
  test('ends once, with the processor’s outcome, despite any two faults at any two calls', async () => {
    const { histories, findings } = await surveyFaults((faults) => runHistory(faults), {
      faults: 2,
      oneOf: 97,
    });
    expect(findings.slice(0, 3)).toEqual([]);
    expect(histories).toBeGreaterThan(whole(500, { slice: 10 }));
  });

  test.each(Object.entries(RIVALS))(
    'ends once, with the processor’s outcome, despite %s before every call and every single fault',
    async (_name, rival) => {
      const { histories, findings } = await surveyFaults((faults, { rivalAt }) => runHistory(faults, rivalAt, rival), {
        faults: 1,
        races: sliceOf(beforeEachCall(MAX_POINTS, [{}]), 13),
        oneOf: 9,
      });
      expect(findings.slice(0, 3)).toEqual([]);
      expect(histories).toBeGreaterThan(whole(500, { slice: 2 }));
    },
  );
});
