import { DeleteCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll } from '@jest/globals';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { recordKey } from '../../lambdas/once/store/record-items.ts';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import { DynamoDbStore } from '../../lambdas/payments/store/dynamodb-store.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { createTables, dynamoDbClient } from '../support/local-aws.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { describePaymentStore } from './payment-store-suite.ts';

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
