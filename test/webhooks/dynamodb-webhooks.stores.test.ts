import { beforeAll } from '@jest/globals';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { DynamoDbWebhooks } from '../../lambdas/webhooks/store/dynamodb-webhooks.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { createTables, dynamoDbClient } from '../support/local-aws.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { describeWebhookStore } from './webhook-store-suite.ts';

let tables: Awaited<ReturnType<typeof createTables>>;
beforeAll(async () => {
  tables = await createTables('webhooks');
});

describeWebhookStore('dynamodb', async () => {
  const pacing = { clock: new SimulatedClock(), entropy: countingEntropy() };
  return new DynamoDbWebhooks(documentClient(dynamoDbClient()), tables, pacing);
});
