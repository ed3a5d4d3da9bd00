/** Tests the guarantee "one callback effect". */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { paymentIdFor, paymentRequest } from '../payments/payment-fixtures.ts';
import { surveyFaults } from '../support/fault-histories.ts';
import { createTables, storesOn } from '../support/local-aws.ts';
import { whole } from '../support/slice.ts';
import { CallbackWorld, callbackStory, engineReceiver, RACES } from './callback-story.ts';
import { naiveReceiver } from './naive-callback.ts';

/** The simulated systems share no items, so they do not affect each other. */
const AT_ONCE = 8;

let tables: Awaited<ReturnType<typeof createTables>>;
let histories = 0;
beforeAll(async () => {
  tables = await createTables('callbacks');
});

function worlds(faults: 'port' | 'sdk'): () => CallbackWorld {
  const { store, storeFor } = storesOn(tables);
  return () => {
    histories += 1;
    const key = `callback-${histories}`;
    const request = paymentRequest(key, { paymentId: paymentIdFor(key), source: 'tok_async' });
    return new CallbackWorld(faults === 'sdk' ? { store, storeFor } : { store }, request, `evt_${histories}`);
  };
}

describe('a callback, its redelivery and a concurrent delivery on the DynamoDB API', () => {
  test('have a single effect even with a fault at any call of the SDK or the processor', async () => {
    const found = await surveyFaults(callbackStory(worlds('sdk'), engineReceiver), {
      faults: 1,
      races: RACES,
      atOnce: AT_ONCE,
      oneOf: [3, 17],
    });
    expect(found.findings.slice(0, 3)).toEqual([]);
    expect(found.histories).toBeGreaterThan(whole(200, { slice: 8 }));
  });

  // Runs without a rival, because the in-memory test combines every pair of faults with every rival.
  test('have one effect despite two faults at any two calls', async () => {
    const found = await surveyFaults(callbackStory(worlds('port'), engineReceiver), {
      faults: 2,
      races: [{}],
      atOnce: AT_ONCE,
      oneOf: [1, 11, 4],
    });
    expect(found.findings.slice(0, 3)).toEqual([]);
    expect(found.histories).toBeGreaterThan(whole(300, { slice: 3 }));
  });

  test('lead to two sets of postings in a handler that reads and then writes without a condition', async () => {
    const { findings } = await surveyFaults(callbackStory(worlds('port'), naiveReceiver), {
      faults: 0,
      races: RACES,
      until: 'I2: 2 sets of postings',
    });
    expect(findings.flatMap(({ violations }) => violations)).toContain('I2: 2 sets of postings');
  });
});
