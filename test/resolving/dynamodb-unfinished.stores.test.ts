import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, expect, test } from '@jest/globals';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { DynamoDbEffects } from '../../lambdas/payments/store/dynamodb-effects.ts';
import { DynamoDbStore } from '../../lambdas/payments/store/dynamodb-store.ts';
import { DynamoDbUnfinishedWork } from '../../lambdas/resolving/store/dynamodb-unfinished.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { createTables, dynamoDbClient } from '../support/local-aws.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { describeUnfinishedWork } from './unfinished-work-suite.ts';

let tables: Awaited<ReturnType<typeof createTables>>;
beforeAll(async () => {
  tables = await createTables('unfinished');
});

describeUnfinishedWork('dynamodb', async () => {
  const client = documentClient(dynamoDbClient());
  const pacing = { clock: new SimulatedClock(), entropy: countingEntropy() };
  const payments = new DynamoDbStore(client, tables, pacing);
  return {
    payments,
    effects: new DynamoDbEffects(client, tables, pacing, payments),
    work: new DynamoDbUnfinishedWork(client, tables, pacing),
  };
});

test('an unreadable row is reported, hides no other row, and is reported again after five minutes', async () => {
  const client = documentClient(dynamoDbClient());
  const clock = new SimulatedClock();
  const unreadable: unknown[] = [];
  const pacing = { clock, entropy: countingEntropy() };
  const work = new DynamoDbUnfinishedWork(client, tables, pacing, (error) => void unreadable.push(error));
  const row = { operationId: 'pay_b', paymentId: 'pay_b', claimedAtMs: 1 };
  const queued = { pk: 'INQUIRY#0', queue: 'QUEUE_UNKNOWN#0', dueAtMs: 0 };
  const put = (item: object) =>
    client.send(new PutCommand({ TableName: tables.registry, Item: { ...queued, ...item } }));
  await put({ sk: 'pay_a', ...row, operationId: 'pay_a', claimedAtMs: '1' });
  await put({ sk: 'pay_b', ...row });
  const reported = [1, 1, 2];
  for (const times of reported) {
    expect(await work.unknownOutcomes({ untilMs: clock.nowMs(), limit: 1_000 })).toContainEqual(row);
    expect(unreadable).toHaveLength(times);
    clock.advance(3 * 60_000);
  }
  expect(unreadable[0]).toMatchObject({ code: 'row_unreadable', message: expect.stringContaining('INQUIRY#0 pay_a') });
});
