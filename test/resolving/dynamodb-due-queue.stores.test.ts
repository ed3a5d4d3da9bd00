import { beforeAll, expect, test } from '@jest/globals';
import { keepCommission } from '../../lambdas/follow-ups/keep-commission.ts';
import { releaseCommissionsJob } from '../../lambdas/follow-ups/release-commissions.ts';
import { DynamoDbCommissions } from '../../lambdas/follow-ups/store/dynamodb-commissions.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { failOnUnreadable } from '../../lambdas/kernel/platform/queue-rows.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { DynamoDbConsumerRecords } from '../../lambdas/once/store/dynamodb-consumer-records.ts';
import { DynamoDbEffects } from '../../lambdas/payments/store/dynamodb-effects.ts';
import { DynamoDbStore } from '../../lambdas/payments/store/dynamodb-store.ts';
import { HOLDS } from '../../lambdas/payments/store/queue-items.ts';
import { DynamoDbDueQueue } from '../../lambdas/resolving/store/dynamodb-due-queue.ts';
import { sweepJob } from '../jobs/sweep-job.ts';
import { effectWithHold } from '../payments/held-effect.ts';
import { chainOfPaid, eventsOfPaid, refunded } from '../payments/paid-chain.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { createTables, dynamoDbClient } from '../support/local-aws.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { describeHolds } from './due-queue-suite.ts';

let tables: Awaited<ReturnType<typeof createTables>>;
beforeAll(async () => {
  tables = await createTables('due');
});

function ports() {
  const client = documentClient(dynamoDbClient());
  const pacing = { clock: new SimulatedClock(), entropy: countingEntropy() };
  return { client, pacing, tools: { client, table: tables.registry, pacing, unreadable: failOnUnreadable } };
}

describeHolds('dynamodb', async () => {
  const { client, pacing, tools } = ports();
  const effects = new DynamoDbEffects(client, tables, pacing, new DynamoDbStore(client, tables, pacing));
  return {
    holds: new DynamoDbDueQueue(tools, HOLDS),
    write: async (hold) => void (await effects.recordEffect(effectWithHold(hold))),
  };
});

test('commissions are released with their current amount, and later events do not change them', async () => {
  const { client, pacing, tools } = ports();
  const { clock, entropy } = pacing;
  const records = new DynamoDbConsumerRecords(client, tables, pacing);
  const book = new DynamoDbCommissions(tools);
  const [paid, part, rest] = eventsOfPaid('due', { affiliate: 'aff_7', order: 'o1' }, [
    refunded('re_1', 400),
    refunded('re_2', 600),
  ]);
  if (paid === undefined || part === undefined || rest === undefined)
    throw new Error('there are fewer than three events');
  const keep = (event: typeof paid) =>
    keepCommission({ records, runner: idempotentRunner, clock, entropy, digest: systemDigest }, event);
  const name = { tenantId: paid.tenant, mode: paid.mode, affiliate: 'aff_7', orderId: 'o1' };
  await keep(paid);
  await keep(part);
  clock.advance(60 * 24 * 60 * 60_000);
  const chain = chainOfPaid('due', { affiliate: 'aff_7', order: 'o1' }, [refunded('re_1', 400)]);
  const payments = { listTransitions: async () => chain };
  const orders = { listOrderTransitions: async () => [] };
  const job = releaseCommissionsJob({ book, payments, orders, records, clock, entropy, digest: systemDigest });
  expect(await sweepJob(job, { nowMs: clock.nowMs() })).toMatchObject({ done: 1, failed: 0 });
  await keep(rest);
  expect(await book.readCommission(name)).toMatchObject({ status: 'released', amountMinor: 60 });
  expect(await sweepJob(job, { nowMs: clock.nowMs() })).toMatchObject({ done: 0, failed: 0 });
});
