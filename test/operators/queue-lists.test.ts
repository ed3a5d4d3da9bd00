import { DynamoDbQueues } from '../../lambdas/operators/store/dynamodb-queues.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { Stores } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';
import { describeQueueLists } from './queue-lists-suite.ts';

describeQueueLists('in-memory', async (clock) => {
  const stores = new Stores(clock);
  const lists = new DynamoDbQueues(stores.database.client, TABLES, { clock, entropy: countingEntropy() });
  return { lists, payments: stores, effects: stores, work: stores };
});
