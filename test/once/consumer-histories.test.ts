/** Tests the guarantee "one consumption". */
import { describe, expect, test } from '@jest/globals';
import type { PaymentEvent } from '../../lambdas/events/domain/event.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { eventsOf } from '../events/event-fixtures.ts';
import { chains, RelayHarness } from '../events/relay-harness.ts';
import {
  beforeEachCall,
  type HistoryRun,
  type Story,
  type SurveyOptions,
  surveyFaults,
} from '../support/fault-histories.ts';
import { FaultPlan, type PlannedFault } from '../support/fault-plan.ts';
import { whole } from '../support/slice.ts';
import {
  type Consume,
  ConsumerWorld,
  deliver,
  naiveInTables,
  naiveOutside,
  outsideEffect,
  paidEvent,
  tableEffect,
} from './consumer-world.ts';

const EVENT = paidEvent();
/** Maximum deliveries before the queue moves a message to its dead-letter queue. */
const MAX_DELIVERIES = 5;
/** Races without a rival, and with a rival before each call of the first two deliveries. */
const RACES = [{ rivalAt: undefined }, ...beforeEachCall(4, [{}])];

/**
 * Delivers an event with injected faults, redelivers it until it is acknowledged, and delivers it once more after that.
 * A rival delivers the event before call `rivalAt`.
 */
async function runHistory(how: Consume, faults: readonly PlannedFault[], rivalAt?: number): Promise<HistoryRun> {
  const world = new ConsumerWorld();
  const plan = new FaultPlan(faults);
  const violations: string[] = [];
  let acknowledged = false;
  const once = async (name: string): Promise<void> => {
    acknowledged = (await deliver(how, name, plan, EVENT, world)).acknowledged || acknowledged;
    const { rows, calls } = await world.effects(EVENT);
    if (rows + calls > 1) violations.push(`I5: ${rows + calls} effects`);
    if (acknowledged && rows + calls === 0) violations.push('I5: acknowledged without effect');
  };
  plan.holdAt(rivalAt, () => once('rival'));
  await once('first');
  await once('redelivery');
  const calls = plan.calm();
  for (let delivery = 3; delivery <= MAX_DELIVERIES; delivery += 1) {
    if (!acknowledged) await once(`delivery ${delivery}`);
  }
  await once('after all');
  if (!acknowledged) violations.push('the event is never acknowledged');
  return { calls, violations };
}

function survey(how: Consume, faults: number, oneOf: SurveyOptions['oneOf'] = 1) {
  const story: Story<{ readonly rivalAt: number | undefined }> = (planned, { rivalAt }) =>
    runHistory(how, planned, rivalAt);
  return surveyFaults(story, { faults, races: RACES, oneOf });
}

describe.each([
  ['in Payonce’s own tables', tableEffect],
  ['outside Payonce', outsideEffect],
] as const)('an event that is redelivered and delivered concurrently, with an effect %s', (_where, how) => {
  test('takes effect once despite any single fault at any call', async () => {
    const { histories, findings } = await survey(how, 1, 3);
    expect(findings.slice(0, 3)).toEqual([]);
    expect(histories).toBeGreaterThan(whole(60, { slice: 20 }));
  });

  test('takes effect once despite any two faults at any two calls', async () => {
    const { histories, findings } = await survey(how, 2, [1, 7, 4]);
    expect(findings.slice(0, 3)).toEqual([]);
    expect(histories).toBeGreaterThan(whole(500, { slice: 30 }));
  });
});

describe.each([
  ['in Payonce’s own tables', tableEffect],
  ['outside Payonce', outsideEffect],
] as const)('a Stream that is read again from the beginning', (where, how) => {
  test(`has no second effect ${where}, although every event is published again`, async () => {
    const relay = new RelayHarness(chains(4));
    const world = new ConsumerWorld();
    for (const reading of ['first', 'second', 'third']) {
      await relay.relay();
      for (const event of relay.bus.published.splice(0) as PaymentEvent[])
        expect(await deliver(how, reading, new FaultPlan(), event, world)).toEqual({ acknowledged: true });
      const events = eventsOf(systemDigest, relay.ledger);
      const effects = await Promise.all(events.map((event) => world.effects(event)));
      expect(effects.map(({ rows, calls }) => rows + calls)).toEqual(relay.expected.map(() => 1));
    }
  });
});

describe.each([
  ['in Payonce’s own tables', naiveInTables],
  ['outside Payonce', naiveOutside],
] as const)('a naive consumer that checks for an earlier effect, and then acts %s', (_where, how) => {
  test('takes effect twice when the same event is delivered twice concurrently', async () => {
    const world = new ConsumerWorld();
    const plan = new FaultPlan();
    await Promise.all(['one', 'two'].map((name) => deliver(how, name, plan, EVENT, world)));
    const { rows, calls } = await world.effects(EVENT);
    expect(rows + calls).toBe(2);
  });

  test('has two effects in the histories that the production code passes', async () => {
    const { findings } = await survey(how, 1);
    expect(findings.flatMap(({ violations }) => violations)).toContain('I5: 2 effects');
  });
});
