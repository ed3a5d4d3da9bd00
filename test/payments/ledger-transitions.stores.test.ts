import { PutCommand, TransactWriteCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll } from '@jest/globals';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { detailsPuts, transitionRow } from '../../lambdas/payments/store/items.ts';
import { LedgerTransitions } from '../../lambdas/payments/store/ledger-transitions.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { createTables, dynamoDbClient } from '../support/local-aws.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { describeTransitionReader } from './transition-reader-suite.ts';

let tables: Awaited<ReturnType<typeof createTables>>;
beforeAll(async () => {
  tables = await createTables('transitions');
});

describeTransitionReader('dynamodb', async () => {
  const client = documentClient(dynamoDbClient());
  const pacing = { clock: new SimulatedClock(), entropy: countingEntropy() };
  return {
    reader: new LedgerTransitions(client, tables, pacing),
    append: async (transition) => {
      await client.send(new PutCommand({ TableName: tables.ledger, Item: transitionRow(transition) }));
      const details = detailsPuts(tables, transition);
      if (details.length > 0) await client.send(new TransactWriteCommand({ TransactItems: [...details] }));
    },
  };
});
