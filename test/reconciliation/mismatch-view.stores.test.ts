import { expect, test } from '@jest/globals';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { STEADY_FOR_MS } from '../../lambdas/reconciliation/domain/mismatch-view.ts';
import { countMismatches, listMismatches, recordComparison } from '../../lambdas/reconciliation/use/mismatch-view.ts';
import { DynamoDbViews } from '../../lambdas/views/store/dynamodb-views.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { createTables, dynamoDbClient } from '../support/local-aws.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { comparedPayment, differsBy } from './mismatch-fixtures.ts';

test('a mismatch on DynamoDB is stored, confirmed, listed, and removed from the list once the books agree', async () => {
  const tables = await createTables('mismatches');
  const pacing = { clock: new SimulatedClock(), entropy: countingEntropy() };
  const views = new DynamoDbViews(documentClient(dynamoDbClient()), tables.views, pacing);
  const keep = (atMs: number, differs: boolean) =>
    recordComparison(
      { views, digest: systemDigest },
      comparedPayment('k'),
      differs ? differsBy(1700) : undefined,
      atMs,
    );
  const listed = async () => {
    const list = await listMismatches(views, { limit: 10 });
    return list.kind === 'found' ? list.open.map(({ status }) => status) : [];
  };

  expect(await keep(1_000, true)).toMatchObject({ change: 'suspected' });
  const rivals = await Promise.all([0, 0, 0].map(() => keep(1_000 + STEADY_FOR_MS, true)));
  expect(rivals.filter((each) => each?.change === 'confirmed')).toHaveLength(1);
  expect(await listed()).toEqual(['confirmed']);
  expect(await countMismatches({ views })).toEqual({ confirmed: 1, suspected: 0 });
  expect(await keep(2_000 + STEADY_FOR_MS, false)).toMatchObject({ change: 'gone' });
  expect(await listed()).toEqual([]);
  expect(await countMismatches({ views })).toEqual({ confirmed: 0, suspected: 0 });
});
