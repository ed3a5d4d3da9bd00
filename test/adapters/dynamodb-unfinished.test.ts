import { beforeAll } from '@jest/globals';
import { documentClient } from '../../lambdas/adapters/dynamodb/document-client.ts';
import { DynamoDbEffects } from '../../lambdas/adapters/dynamodb/dynamodb-effects.ts';
import { DynamoDbStore } from '../../lambdas/adapters/dynamodb/dynamodb-store.ts';
import { DynamoDbUnfinishedWork } from '../../lambdas/adapters/dynamodb/dynamodb-unfinished.ts';
import { describeUnfinishedWork } from '../contract-suites/unfinished-work-suite.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { createTables, dynamoDbClient } from '../support/local-aws.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';

let tables: Awaited<ReturnType<typeof createTables>>;
beforeAll(async () => {
  tables = await createTables('unfinished');
});

describeUnfinishedWork('dynamodb', async () => {
  const client = documentClient(dynamoDbClient());
  const pacing = { clock: new SimulatedClock(), entropy: countingEntropy() };
  const payments = new DynamoDbStore(client, tables, pacing);
  return {
    payments,
    effects: new DynamoDbEffects(client, tables, pacing, payments),
    work: new DynamoDbUnfinishedWork(client, tables, pacing, payments),
  };
});
