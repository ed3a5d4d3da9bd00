import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, expect, test } from '@jest/globals';
import { acceptedRun } from '../../../../lambdas/jobs/domain/job-run.ts';
import { runRow } from '../../../../lambdas/jobs/store/job-items.ts';
import { chargeOperation } from '../../../../lambdas/payments/ids.ts';
import { inquiryItem } from '../../../../lambdas/payments/store/queue-items.ts';
import { paymentIdFor } from '../../../payments/payment-fixtures.ts';
import { TABLES } from '../../tables.ts';
import { World } from '../../world.ts';
import { watched } from './watched.ts';

const ORACLE = 'every queue entry is looked at in time';
const MINUTE_MS = 60_000;

let harness: World;
let world: ReturnType<typeof watched>;
beforeEach(() => {
  harness = new World();
  world = watched(harness);
});

const put = (Item: Record<string, unknown>) =>
  harness.store.database.client.send(new PutCommand({ TableName: TABLES.registry, Item }));
const inquiry = (key = 'overdue') => {
  const paymentId = paymentIdFor(key);
  return { operationId: chargeOperation(paymentId), paymentId, claimedAtMs: harness.clock.nowMs() };
};
/** Records a job run that ends without processing any entry. */
async function run(jobId: string, changes: object = {}): Promise<void> {
  harness.clock.advance(MINUTE_MS);
  const accepted = acceptedRun(jobId, harness.clock.nowMs(), harness.clock.nowMs());
  await put(runRow(accepted));
  await put(runRow({ ...accepted, status: 'succeeded', ...changes }));
}

test('an entry is overdue when the number of runs that skipped it exceeds the limit of its queue', async () => {
  await put(inquiryItem(TABLES, inquiry()).Put?.Item ?? {});
  for (let runs = 0; runs < 3; runs += 1) await run('resolve');
  expect(world.now()).not.toContain(ORACLE);
  await run('resolve');
  expect(world.now()).toContain(ORACLE);
});

test('an entry behind others may wait longer than usual, even after the others have left the queue', async () => {
  const others = Array.from({ length: 40 }, (_, place) => inquiry(`other-${place}`));
  for (const each of [...others, inquiry()]) await put(inquiryItem(TABLES, each).Put?.Item ?? {});
  await run('resolve');
  for (const each of others) await harness.store.closeInquiry(each);
  for (let runs = 1; runs < 7; runs += 1) await run('resolve');
  expect(world.now()).not.toContain(ORACLE);
  await run('resolve');
  expect(world.now()).toContain(ORACLE);
});

test('an entry does not become overdue through runs of other jobs or runs with failures', async () => {
  await put(inquiryItem(TABLES, inquiry()).Put?.Item ?? {});
  for (let runs = 0; runs < 9; runs += 1) {
    await run('retry-orphans');
    await run('resolve', { failed: 1 });
  }
  expect(world.now()).not.toContain(ORACLE);
});

test('an entry that is processed or not due is not overdue', async () => {
  const asked = inquiry();
  await put(inquiryItem(TABLES, asked).Put?.Item ?? {});
  for (let runs = 0; runs < 9; runs += 1) {
    await run('resolve');
    const dueAtMs = harness.clock.nowMs() + (runs < 5 ? 0 : 30 * MINUTE_MS);
    if (runs < 6) await harness.store.postponeInquiry(asked, { dueAtMs, undecidable: false });
  }
  expect(world.now()).not.toContain(ORACLE);
});

test('an entry that is in no queue is reported immediately', async () => {
  const { queue: _queue, ...unlisted } = inquiryItem(TABLES, inquiry()).Put?.Item ?? {};
  await put(unlisted);
  expect(world.now()).toContain(ORACLE);
});
