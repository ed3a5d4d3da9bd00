/** Tests the guarantee "one charge". */
import { beforeAll } from '@jest/globals';
import { createTables, storesOn } from '../support/local-aws.ts';
import { describePaymentsOn } from './histories-on-store-suite.ts';

let stores: ReturnType<typeof storesOn>;
beforeAll(async () => {
  stores = storesOn(await createTables('payments'));
});

describePaymentsOn(
  { name: 'DynamoDB', call: 'SDK call', stores: () => stores },
  {
    // Every pair of faults with every rival is tested on the in-memory store, which passes the same store tests.
    calls: 'calls to the store and the processor',
    stores: () => ({ store: stores.store }),
    oneOf: [1, 11, 13],
    atLeast: 1_500,
  },
);
