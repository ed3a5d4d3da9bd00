/** Tests the guarantee "one vendor call". */
import { describe, expect, test } from '@jest/globals';
import { surveyFaults } from '../support/fault-histories.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { whole } from '../support/slice.ts';
import { Stores } from '../world/stores.ts';
import { claimsOf, claimThenSend, type EmailWorld, emailStory, lookUpThenSend, RACES } from './email-story.ts';

function world(): EmailWorld {
  const clock = new SimulatedClock();
  const claims = new Stores(clock).sendingClaims('postmark');
  return { clock, key: 'letter', claimsFor: (actor) => claimsOf(actor, claims) };
}

describe('an e-mail to a vendor that does not recognize repeated requests', () => {
  test('is sent once despite any single fault, and despite a second process that sends at any call, immediately or after the lease', async () => {
    const { histories, findings } = await surveyFaults(emailStory(world, claimThenSend), {
      faults: 1,
      races: RACES,
      oneOf: 11,
    });
    expect(findings.slice(0, 3)).toEqual([]);
    expect(histories).toBeGreaterThan(whole(150, { slice: 30 }));
  });

  test('is sent once despite any two faults', async () => {
    const { histories, findings } = await surveyFaults(emailStory(world, claimThenSend), {
      faults: 2,
      races: [{}],
      oneOf: 23,
    });
    expect(findings.slice(0, 3)).toEqual([]);
    expect(histories).toBeGreaterThan(whole(250, { slice: 40 }));
  });

  test('is not always sent once by a process that looks up and then sends without a claim', async () => {
    const alone = await surveyFaults(emailStory(world, lookUpThenSend), { faults: 1, races: [{}] });
    const other = await surveyFaults(emailStory(world, lookUpThenSend), { faults: 0, races: RACES.slice(1) });
    expect([alone.findings.length > 0, other.findings.length > 0]).toEqual([true, true]);
  });
});
