import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { OpenDatabase } from '../../lambdas/postgres/connection.ts';
import { paymentIdFor, paymentRequest } from '../payments/payment-fixtures.ts';
import { createDatabase, openTestDatabase } from '../postgres/store-database.ts';
import { surveyFaults } from '../support/fault-histories.ts';
import { whole } from '../support/slice.ts';
import { storesOnPostgres } from '../world/postgres-stores.ts';
import { CallbackWorld, callbackStory, engineReceiver, RACES } from './callback-story.ts';

/** The simulated systems share no rows, so they do not affect each other. */
const AT_ONCE = 8;

let database: OpenDatabase;
let histories = 0;
beforeAll(async () => {
  // A delivery with a fault can hold one connection while its rival runs.
  database = openTestDatabase(await createDatabase(), { connections: 2 * AT_ONCE });
});
afterAll(() => database.close());

const story = callbackStory(() => {
  histories += 1;
  const key = `callback-${histories}`;
  const request = paymentRequest(key, { paymentId: paymentIdFor(key), source: 'tok_async' });
  return new CallbackWorld(storesOnPostgres(database), request, `evt_${histories}`);
}, engineReceiver);

describe('the deliveries of a callback on PostgreSQL', () => {
  test('have a single effect even with a fault at any statement or call to the processor', async () => {
    const found = await surveyFaults(story, { faults: 1, races: RACES, atOnce: AT_ONCE, oneOf: [3, 17] });
    expect(found.findings.slice(0, 3)).toEqual([]);
    expect(found.histories).toBeGreaterThan(whole(200, { slice: 8 }));
  });

  test('have a single effect despite faults at any two statements or calls, with and without a concurrent delivery', async () => {
    const races = [{}, { rivalAt: 4, event: 'same' }, { rivalAt: 4, event: 'other' }] as const;
    const found = await surveyFaults(story, { faults: 2, races, atOnce: AT_ONCE, oneOf: [1, 11, 13] });
    expect(found.findings.slice(0, 3)).toEqual([]);
    expect(found.histories).toBeGreaterThan(whole(1_000, { slice: 6 }));
  });
});
