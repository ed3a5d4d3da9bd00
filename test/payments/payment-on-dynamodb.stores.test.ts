/** Tests the guarantee "one charge". */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { surveyFaults } from '../support/fault-histories.ts';
import { createTables, storesOn } from '../support/local-aws.ts';
import { whole } from '../support/slice.ts';
import type { WorldOptions } from '../world/world.ts';
import { paymentIdFor, paymentRequest } from './payment-fixtures.ts';
import { everyRace, type MakeWorld, PaymentWorld, paymentStory } from './payment-story.ts';

/** Number of concurrent simulations, which share no items. */
const AT_ONCE = 8;

let tables: Awaited<ReturnType<typeof createTables>>;
let histories = 0;
beforeAll(async () => {
  tables = await createTables('interleavings');
});

/** Builds a world with its own payment on the shared tables. */
function worldOn(stores: Pick<WorldOptions, 'store' | 'storeFor'>): MakeWorld {
  return (plan) => {
    histories += 1;
    const key = `history-${histories}`;
    return {
      world: new PaymentWorld({ plan, ...stores }),
      request: paymentRequest(key, { paymentId: paymentIdFor(key) }),
    };
  };
}

describe('the guarantees of a payment, its retry and a rival on DynamoDB', () => {
  test('hold under every single fault at every call of the SDK', async () => {
    const make = worldOn(storesOn(tables));
    const found = await surveyFaults(paymentStory(make), {
      faults: 1,
      races: everyRace(3),
      atOnce: AT_ONCE,
      oneOf: 17,
    });
    expect(found.findings.slice(0, 3)).toEqual([]);
    expect(found.histories).toBeGreaterThan(whole(150, { slice: 8 }));
  });

  // Every pair of faults with every rival is tested on the in-memory store, which passes the same store tests.
  test('hold under pairs of faults at any two calls of the store and the processor, without a rival and with a takeover', async () => {
    const { store } = storesOn(tables);
    const make = worldOn({ store });
    const races = [{}, { rivalAt: 2, leaseEnded: true }, { rivalAt: 3, leaseEnded: true }];
    const found = await surveyFaults(paymentStory(make), {
      faults: 2,
      races,
      atOnce: AT_ONCE,
      oneOf: 127,
    });
    expect(found.findings.slice(0, 3)).toEqual([]);
    expect(found.histories).toBeGreaterThan(whole(1_500, { slice: 10 }));
  });
});
