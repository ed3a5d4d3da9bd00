import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { paymentRequest } from '../payments/payment-fixtures.ts';
import { everyRace, type MakeWorld, paymentStory } from '../payments/payment-story.ts';
import { surveyFaults, violatedGuarantees } from '../support/fault-histories.ts';
import { createTables } from '../support/local-aws.ts';
import { whole } from '../support/slice.ts';
import { fakeDate } from './stock-date.ts';
import type { StockWorldOptions } from './stock-powertools-world.ts';
import { stockWorld } from './stock-versus-engine.ts';

let tables: Awaited<ReturnType<typeof createTables>>;
let histories = 0;
beforeAll(async () => {
  tables = await createTables('stock-histories');
  fakeDate();
});
afterAll(() => {
  jest.useRealTimers();
});
/** The calls of the engine's first attempt are claim, charge and commit. */
const RACES = everyRace(3);

function stock(options: Pick<StockWorldOptions, 'processorKey' | 'remainingTimeMs'> = {}) {
  const make: MakeWorld = (plan) => {
    histories += 1;
    return { world: stockWorld(tables, plan, options), request: paymentRequest(`stock-history-${histories}`) };
  };
  return paymentStory(make);
}

// Every history is needed to show which guarantees break.
whole(describe, { slice: describe.skip })(
  'the stock DynamoDB layer of Powertools, in the histories that the engine survives,',
  () => {
    test('breaks no guarantee without faults and rivals', async () => {
      const found = await surveyFaults(stock(), { faults: 0, races: [{}] });
      expect(found).toMatchObject({ histories: 1, findings: [] });
    });

    test('makes second charges and second postings, with responses that contradict them, after one fault without a rival', async () => {
      const found = await surveyFaults(stock(), { faults: 1, races: [{}] });
      expect(violatedGuarantees(found)).toEqual(['I1', 'I2', 'I4']);
    });

    test('also returns different responses for one key after one fault with a rival', async () => {
      expect(violatedGuarantees(await surveyFaults(stock(), { faults: 1, races: RACES }))).toEqual([
        'I1',
        'I2',
        'I3',
        'I4',
      ]);
    });

    test('makes second postings, with responses that contradict them, even if every attempt uses the same processor key', async () => {
      const found = await surveyFaults(stock({ processorKey: 'same' }), { faults: 1, races: RACES });
      expect(violatedGuarantees(found)).toEqual(['I2', 'I4']);
    });

    test('leaves a key without a response if the layer does not know the remaining time of its invocation', async () => {
      const warn = jest.spyOn(console, 'warn').mockImplementation(() => undefined);
      const found = await surveyFaults(stock({ remainingTimeMs: 0 }), { faults: 1, races: [{}] });
      warn.mockRestore();
      expect(violatedGuarantees(found)).toContain('I7');
    });
  },
);
