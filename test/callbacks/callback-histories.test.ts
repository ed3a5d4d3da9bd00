/** Tests the guarantee "one callback effect". */
import { describe, expect, test } from '@jest/globals';
import { callback, paymentRequest } from '../payments/payment-fixtures.ts';
import { surveyFaults } from '../support/fault-histories.ts';
import { Actor, FaultPlan } from '../support/fault-plan.ts';
import { whole } from '../support/slice.ts';
import { CallbackWorld, callbackStory, engineReceiver, RACES } from './callback-story.ts';
import { naiveReceiver } from './naive-callback.ts';

const inMemory = () => new CallbackWorld({}, paymentRequest('callback-history', { source: 'tok_async' }));

describe('a callback, its redelivery and a concurrent delivery', () => {
  test('have a single effect, even with a fault at any call, or with two faults at any two calls', async () => {
    const { histories, findings } = await surveyFaults(callbackStory(inMemory, engineReceiver), {
      faults: 2,
      races: RACES,
      oneOf: [1, 11, 19],
    });
    expect(findings.slice(0, 3)).toEqual([]);
    expect(histories).toBeGreaterThan(whole(3_000, { slice: 60 }));
  });
});

describe('a handler that reads and then writes without a condition', () => {
  test('posts twice for two identical concurrent callbacks', async () => {
    const world = inMemory();
    const charge = await world.prepare();
    const plan = new FaultPlan();
    const deliver = (name: string) => naiveReceiver(new Actor(name, plan), callback('evt_1', charge), world);
    // By then, the first delivery has read that the event is not recorded.
    plan.holdAt(2, () => deliver('second'));
    await deliver('first');
    expect(await world.violations([])).toContain('I2: 2 sets of postings');
  });

  test('posts twice in at least one of the histories that the production code passes', async () => {
    const until = 'I2: 2 sets of postings';
    const { findings } = await surveyFaults(callbackStory(inMemory, naiveReceiver), { faults: 1, races: RACES, until });
    expect(findings.flatMap(({ violations }) => violations)).toContain(until);
  });
});
