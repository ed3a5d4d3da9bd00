import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll } from '@jest/globals';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { DynamoDbConsumerRecords } from '../../lambdas/once/store/dynamodb-consumer-records.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { createTables, dynamoDbClient } from '../support/local-aws.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { describeConsumerRecords } from './consumer-records-suite.ts';

let tables: Awaited<ReturnType<typeof createTables>>;
beforeAll(async () => {
  tables = await createTables('consumers');
});

describeConsumerRecords('dynamodb', async () => {
  const client = documentClient(dynamoDbClient());
  const pacing = { clock: new SimulatedClock(), entropy: countingEntropy() };
  return {
    records: new DynamoDbConsumerRecords(client, tables, pacing),
    row: async ({ table, partition, sort }) => {
      const { Item } = await client.send(
        new GetCommand({ TableName: tables[table], Key: { pk: partition, sk: sort }, ConsistentRead: true }),
      );
      return Item;
    },
  };
});
