import { DeleteCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { LedgerRow } from '../../lambdas/kernel/contract/rows.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { detailsKey, readDetailsRows } from '../../lambdas/once/store/details-rows.ts';
import { DynamoDbQueues } from '../../lambdas/operators/store/dynamodb-queues.ts';
import { describeActivityLog } from '../activity/activity-log-suite.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { createTables, dynamoDbClient } from '../support/local-aws.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { Stores } from '../world/stores.ts';
import { describeApprovingStore } from './approving-store-suite.ts';
import { describeQueueLists } from './queue-lists-suite.ts';

async function open(clock = new SimulatedClock()) {
  const client = documentClient(dynamoDbClient());
  const tables = await createTables('operators');
  return {
    client,
    tables,
    stores: new Stores(clock, { client }, tables),
    pacing: { clock, entropy: countingEntropy() },
  };
}

describeQueueLists('dynamodb', async (clock) => {
  const { client, tables, stores, pacing } = await open(clock);
  return { lists: new DynamoDbQueues(client, tables, pacing), payments: stores, effects: stores, work: stores };
});

describeApprovingStore('dynamodb', async () => {
  const { client, tables, stores, pacing } = await open();
  return {
    payments: stores,
    activity: stores.activity,
    effects: stores,
    erase: async (paymentId) => {
      const details = await readDetailsRows({ client, pacing, registry: tables.registry }, paymentId);
      for (const part of details.keys())
        await client.send(new DeleteCommand({ TableName: tables.registry, Key: detailsKey(paymentId, String(part)) }));
    },
  };
});

describeActivityLog('dynamodb', async () => {
  const { client, tables, stores } = await open();
  return {
    log: stores.activity,
    record: (draft) => stores.activity.record(draft),
    forge: (chain, sequence) =>
      client.send(
        new UpdateCommand({
          TableName: tables.ledger,
          Key: { pk: `${LedgerRow.activity}${chain}`, sk: `A#${String(sequence).padStart(9, '0')}` },
          UpdateExpression: 'SET #action = :action',
          ExpressionAttributeNames: { '#action': 'action' },
          ExpressionAttributeValues: { ':action': 'decision.made' },
        }),
      ),
  };
});
