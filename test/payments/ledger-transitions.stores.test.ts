import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, expect, test } from '@jest/globals';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { transitionRow } from '../../lambdas/payments/store/items.ts';
import { LedgerTransitions } from '../../lambdas/payments/store/ledger-transitions.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { createTables, dynamoDbClient } from '../support/local-aws.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { describeTransitionReader } from './transition-reader-suite.ts';

let table: string;
beforeAll(async () => {
  table = (await createTables('transitions')).ledger;
});

describeTransitionReader('dynamodb', async () => {
  const client = documentClient(dynamoDbClient());
  const pacing = { clock: new SimulatedClock(), entropy: countingEntropy() };
  return {
    reader: new LedgerTransitions(client, table, pacing),
    append: async (transition) => {
      await client.send(new PutCommand({ TableName: table, Item: transitionRow(transition) }));
    },
  };
});

test('a Ledger that was made just now holds nothing of yesterday', async () => {
  const pacing = { clock: new SimulatedClock(), entropy: countingEntropy() };
  const reader = new LedgerTransitions(documentClient(dynamoDbClient()), table, pacing);
  const emptyBeforeMs = await reader.emptyBeforeMs();
  expect(emptyBeforeMs).toBeGreaterThan(Date.now() - 60 * 60_000);
  expect(emptyBeforeMs).toBeLessThan(Date.now());
});
