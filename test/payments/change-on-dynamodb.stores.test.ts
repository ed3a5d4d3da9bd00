import { beforeAll } from '@jest/globals';
import { createTables, storesOn } from '../support/local-aws.ts';
import { describeChangesOn } from './histories-on-store-suite.ts';

let stores: ReturnType<typeof storesOn>;
beforeAll(async () => {
  stores = storesOn(await createTables('changes'));
});

describeChangesOn({ name: 'DynamoDB', call: 'SDK call', stores: () => stores });
