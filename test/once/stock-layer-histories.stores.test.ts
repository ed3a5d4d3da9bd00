import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { paymentRequest } from '../payments/payment-fixtures.ts';
import { ALONE, brokenPromises, type MakeWorld, survey } from '../support/histories.ts';
import { createTables } from '../support/local-aws.ts';
import { stockWorld } from './stock-beside-engine.ts';
import { fakeDate } from './stock-date.ts';
import type { StockWorldOptions } from './stock-powertools-world.ts';

let tables: Awaited<ReturnType<typeof createTables>>;
let histories = 0;
beforeAll(async () => {
  tables = await createTables('stock-histories');
  fakeDate();
});
afterAll(() => {
  jest.useRealTimers();
});
/** A survey is some hundred histories. Milliseconds. */
const SURVEY_TIMEOUT_MS = 120_000;

const stock =
  (options: Pick<StockWorldOptions, 'processorKey' | 'remainingTimeMs'> = {}): MakeWorld =>
  (plan) => {
    histories += 1;
    return { world: stockWorld(tables, plan, options), request: paymentRequest(`stock-history-${histories}`) };
  };

describe('the stock DynamoDB layer of Powertools, in the histories that the engine survives, breaks', () => {
  test(
    'nothing without faults and rivals',
    async () => {
      const found = await survey(stock(), { faults: 0, races: ALONE });
      expect(found).toMatchObject({ histories: 1, findings: [] });
    },
    SURVEY_TIMEOUT_MS,
  );

  test(
    'charges, postings and answers by one fault, without a rival',
    async () => {
      const found = await survey(stock(), { faults: 1, races: ALONE });
      expect(brokenPromises(found)).toEqual(['I1', 'I2', 'I4']);
    },
    SURVEY_TIMEOUT_MS,
  );

  test(
    'charges, postings and answers, when the processor gets a new key for every attempt',
    async () => {
      expect(brokenPromises(await survey(stock(), { faults: 1 }))).toEqual(['I1', 'I2', 'I3', 'I4']);
    },
    SURVEY_TIMEOUT_MS,
  );

  test(
    'postings, even when the processor gets the same key every time',
    async () => {
      const found = await survey(stock({ processorKey: 'same' }), { faults: 1 });
      expect(brokenPromises(found)).toEqual(['I2', 'I4']);
    },
    SURVEY_TIMEOUT_MS,
  );

  test(
    'the guarantee of an answer, when it does not know the remaining time of its invocation',
    async () => {
      const warn = jest.spyOn(console, 'warn').mockImplementation(() => undefined);
      const found = await survey(stock({ remainingTimeMs: 0 }), { faults: 1, races: ALONE });
      warn.mockRestore();
      expect(brokenPromises(found)).toContain('I7');
    },
    SURVEY_TIMEOUT_MS,
  );
});
