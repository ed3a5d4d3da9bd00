import { beforeAll } from '@jest/globals';
import { documentClient } from '../../lambdas/adapters/dynamodb/document-client.ts';
import { DynamoDbWebhooks } from '../../lambdas/adapters/dynamodb/dynamodb-webhooks.ts';
import { describeWebhookStore } from '../contract-suites/webhook-store-suite.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { createTables, dynamoDbClient } from '../support/local-aws.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';

let tables: Awaited<ReturnType<typeof createTables>>;
beforeAll(async () => {
  tables = await createTables('webhooks');
});

describeWebhookStore('dynamodb', async () => {
  const pacing = { clock: new SimulatedClock(), entropy: countingEntropy() };
  return new DynamoDbWebhooks(documentClient(dynamoDbClient()), tables, pacing);
});
