import { BatchWriteCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import type { Transition } from '../../lambdas/payments/domain/transition.ts';
import { transitionRow } from '../../lambdas/payments/store/items.ts';
import { DynamoDbLedgerReader, type ReadBounds } from '../../lambdas/views/store/ledger-reader.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { createTables, dynamoDbClient } from '../support/local-aws.ts';
import { paymentIdFor } from '../support/payment-fixtures.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { describeLedgerReader, takenAt } from './ledger-reader-suite.ts';

let ledger: string;
beforeAll(async () => {
  ({ ledger } = await createTables('ledger-reader'));
});

const readerOf = (table: string, bounds?: ReadBounds) => {
  const pacing = { clock: new SimulatedClock(), entropy: countingEntropy() };
  return new DynamoDbLedgerReader(documentClient(dynamoDbClient()), table, pacing, bounds);
};

const writeTo = async (table: string, transitions: readonly Transition[]) => {
  const requests = transitions.map((transition) => ({ PutRequest: { Item: transitionRow(transition) } }));
  await documentClient(dynamoDbClient()).send(new BatchWriteCommand({ RequestItems: { [table]: requests } }));
};

describeLedgerReader('dynamodb', async () => ({
  reader: readerOf(ledger),
  write: (transitions) => writeTo(ledger, transitions),
}));

describeLedgerReader('dynamodb, a row to a page', async () => ({
  reader: readerOf(ledger, { rowsPerPage: 1, pages: 1000 }),
  write: (transitions) => writeTo(ledger, transitions),
}));

describe('a Ledger beyond what one request may read', () => {
  const owner = { tenantId: tenantId('ten_bounds'), mode: 'test' as const };

  test('is refused as a whole rather than told in part, and one payment of it is still told', async () => {
    const { ledger: own } = await createTables('ledger-bounds');
    for (const key of ['a', 'b', 'c']) await writeTo(own, takenAt(owner, key, 1));
    const bounded = (pages: number) => readerOf(own, { rowsPerPage: 2, pages });

    const refused = { name: 'RetryableError', code: 'ledger_too_large' };
    await expect(bounded(2).entries({ ...owner, limit: 1 })).rejects.toMatchObject(refused);
    await expect(bounded(2).balances(owner)).rejects.toMatchObject(refused);
    const paymentId = paymentIdFor('b', owner.tenantId);
    expect(await bounded(2).entries({ ...owner, paymentId, limit: 100 })).toHaveLength(4);
    expect(await bounded(4).entries({ ...owner, limit: 100 })).toHaveLength(12);
  });
});
