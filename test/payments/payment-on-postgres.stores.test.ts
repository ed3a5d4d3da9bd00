import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { OpenDatabase } from '../../lambdas/postgres/connection.ts';
import { createDatabase, openTestDatabase } from '../postgres/store-database.ts';
import { surveyFaults } from '../support/fault-histories.ts';
import { whole } from '../support/slice.ts';
import { storesOnPostgres } from '../world/postgres-stores.ts';
import { paymentIdFor, paymentRequest } from './payment-fixtures.ts';
import { everyRace, type MakeWorld, PaymentWorld, paymentStory } from './payment-story.ts';

/** Number of concurrent simulations, which share no rows. */
const AT_ONCE = 8;

let database: OpenDatabase;
let made = 0;
beforeAll(async () => {
  // A simulated process with a fault can hold a connection while its rival runs.
  database = openTestDatabase(await createDatabase(), { connections: 2 * AT_ONCE });
});
afterAll(() => database.close());

/** Builds a world with its own payment in the shared database. */
const make: MakeWorld = (plan) => {
  made += 1;
  const key = `history-${made}`;
  return {
    world: new PaymentWorld({ plan, ...storesOnPostgres(database) }),
    request: paymentRequest(key, { paymentId: paymentIdFor(key) }),
  };
};

describe('the guarantees of a payment, its retry and a rival on PostgreSQL', () => {
  test('hold under every single fault at every statement', async () => {
    const found = await surveyFaults(paymentStory(make), {
      faults: 1,
      races: everyRace(3),
      atOnce: AT_ONCE,
      oneOf: 17,
    });
    expect(found.findings.slice(0, 3)).toEqual([]);
    expect(found.histories).toBeGreaterThan(whole(150, { slice: 8 }));
  });

  test('hold under pairs of faults at any two statements, without a rival and with a takeover', async () => {
    const races = [{}, { rivalAt: 2, leaseEnded: true }, { rivalAt: 3, leaseEnded: true }];
    const found = await surveyFaults(paymentStory(make), { faults: 2, races, atOnce: AT_ONCE, oneOf: 997 });
    expect(found.findings.slice(0, 3)).toEqual([]);
    expect(found.histories).toBeGreaterThan(whole(4_000, { slice: 8 }));
  });
});
