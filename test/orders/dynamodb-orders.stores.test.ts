import { beforeAll } from '@jest/globals';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { DynamoDbOrders } from '../../lambdas/orders/store/dynamodb-orders.ts';
import { DynamoDbEffects } from '../../lambdas/payments/store/dynamodb-effects.ts';
import { DynamoDbStore } from '../../lambdas/payments/store/dynamodb-store.ts';
import { DynamoDbUnfinishedWork } from '../../lambdas/resolving/store/dynamodb-unfinished.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { createTables, dynamoDbClient } from '../support/local-aws.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { describeOrderStore } from './order-store-suite.ts';

let tables: Awaited<ReturnType<typeof createTables>>;
beforeAll(async () => {
  tables = await createTables('orders');
});

const pacing = { clock: new SimulatedClock(), entropy: countingEntropy() };

function stores() {
  const client = documentClient(dynamoDbClient());
  const payments = new DynamoDbStore(client, tables, pacing);
  return {
    payments,
    effects: new DynamoDbEffects(client, tables, pacing, payments),
    orders: new DynamoDbOrders(client, tables, pacing, payments),
    work: new DynamoDbUnfinishedWork(client, tables, pacing),
  };
}

describeOrderStore('dynamodb', async () => stores());
