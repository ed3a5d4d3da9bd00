import { beforeAll } from '@jest/globals';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { DynamoDbEffects } from '../../lambdas/payments/store/dynamodb-effects.ts';
import { DynamoDbStore } from '../../lambdas/payments/store/dynamodb-store.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { createTables, dynamoDbClient } from '../support/local-aws.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { describeEffectStore } from './effect-store-suite.ts';

let tables: Awaited<ReturnType<typeof createTables>>;
beforeAll(async () => {
  tables = await createTables('effects');
});

describeEffectStore('dynamodb', async () => {
  const client = documentClient(dynamoDbClient());
  const pacing = { clock: new SimulatedClock(), entropy: countingEntropy() };
  const payments = new DynamoDbStore(client, tables, pacing);
  return { payments, effects: new DynamoDbEffects(client, tables, pacing, payments) };
});
