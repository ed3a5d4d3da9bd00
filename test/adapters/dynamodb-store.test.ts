import { DeleteCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll } from '@jest/globals';
import { documentClient } from '../../lambdas/adapters/dynamodb/document-client.ts';
import { DynamoDbStore } from '../../lambdas/adapters/dynamodb/dynamodb-store.ts';
import { recordKey } from '../../lambdas/adapters/dynamodb/items.ts';
import { chargeOperation } from '../../lambdas/core/ids.ts';
import { describePaymentStore } from '../contract-suites/payment-store-suite.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { createTables, dynamoDbClient } from '../support/local-aws.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';

let tables: Awaited<ReturnType<typeof createTables>>;
beforeAll(async () => {
  tables = await createTables('store');
});

describePaymentStore('dynamodb', async () => {
  const client = documentClient(dynamoDbClient());
  return {
    store: new DynamoDbStore(client, tables, { clock: new SimulatedClock(), entropy: countingEntropy() }),
    deleteRecord: async (paymentId) => {
      await client.send(
        new DeleteCommand({ TableName: tables.idempotency, Key: recordKey(chargeOperation(paymentId)) }),
      );
    },
  };
});
