import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { callbackOperation } from '../../../../lambdas/callbacks/ids.ts';
import { commissionDueKey } from '../../../../lambdas/follow-ups/commission-rows.ts';
import { acceptedRun } from '../../../../lambdas/jobs/domain/job-run.ts';
import { runRow } from '../../../../lambdas/jobs/store/job-items.ts';
import { IdempotencyRow } from '../../../../lambdas/kernel/contract/rows.ts';
import { RegistryTable } from '../../../../lambdas/kernel/contract/tables.ts';
import { type OrderId, tenantId } from '../../../../lambdas/kernel/ids.ts';
import type { Item } from '../../../../lambdas/kernel/platform/items.ts';
import { systemDigest } from '../../../../lambdas/kernel/platform/platform.ts';
import { openRecordItem } from '../../../../lambdas/once/store/record-items.ts';
import { chargeOperation } from '../../../../lambdas/payments/ids.ts';
import {
  holdItem,
  inquiryItem,
  openOrderRow,
  returnItem,
  waitingOrphanRow,
} from '../../../../lambdas/payments/store/queue-items.ts';
import { newDelivery, testMessage } from '../../../../lambdas/webhooks/domain/webhook-delivery.ts';
import { deliveryRow } from '../../../../lambdas/webhooks/store/webhook-items.ts';
import { openRecord, paymentIdFor } from '../../../payments/payment-fixtures.ts';
import { TABLES } from '../../tables.ts';
import { World } from '../../world.ts';
import { watched } from './watched.ts';

const ORACLE = 'every queue entry is looked at in time';
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const OWNER = { tenantId: tenantId('ten_a'), mode: 'test' } as const;
const ENDPOINT = { id: 'wh_1', url: 'https://shop.example.com/in' };
const PAYMENT = paymentIdFor('overdue');
const hold = (atMs: number) => holdItem(TABLES, { paymentId: PAYMENT, authorizedAtMs: atMs }).Put?.Item ?? {};
function commissionDue(atMs: number): Item {
  const releasesAtMs = atMs + 30 * DAY_MS;
  const { partition: pk, sort: sk } = commissionDueKey({ paymentId: PAYMENT, releasesAtMs });
  return { pk, sk, tenant: 'ten_a', mode: 'test', affiliate: 'aff', order: 'o', payment: PAYMENT, releasesAtMs };
}
const claim = (atMs: number): Item =>
  openRecordItem(openRecord(PAYMENT, { claimedAtMs: atMs, leaseExpiresAtMs: atMs }));

/** The argument of `row` is the row's due time or, for some queues, the start of its wait. */
const QUEUES: Readonly<Record<string, { readonly job: string; readonly row: (atMs: number) => Item }>> = {
  holds: { job: 'expire-authorizations', row: hold },
  commissions: { job: 'release-commissions', row: commissionDue },
  claims: { job: 'resolve', row: claim },
  inquiries: {
    job: 'resolve',
    row: (claimedAtMs) => inquiryItem(TABLES, { ...inquiry(), claimedAtMs }).Put?.Item ?? {},
  },
  returns: {
    job: 'resolve',
    row: (foundAtMs) =>
      returnItem(TABLES, { paymentId: PAYMENT, chargeId: 'ch_1', by: 'refund', foundAtMs }).Put?.Item ?? {},
  },
  orders: {
    job: 'resolve',
    row: (createdAtMs) => openOrderRow({ orderId: `ord_${'a'.repeat(32)}` as OrderId, createdAtMs, sequence: 1 }),
  },
  orphans: {
    job: 'retry-orphans',
    row: (receivedAtMs) =>
      waitingOrphanRow({
        operationId: callbackOperation(systemDigest, 'sandbox', 'evt_1'),
        event: { processorName: 'sandbox', mode: 'test', eventId: 'evt_1', type: 'charge.succeeded', chargeId: 'ch_1' },
        reason: 'payment_unknown',
        receivedAtMs,
      }),
  },
  'webhook deliveries': {
    job: 'sweep-webhooks',
    row: (atMs) =>
      deliveryRow(
        newDelivery(
          systemDigest,
          OWNER,
          ENDPOINT,
          testMessage(systemDigest, ENDPOINT, OWNER, { mark: 'x', atMs }),
          atMs,
        ),
      ),
  },
};

let harness: World;
let world: ReturnType<typeof watched>;
beforeEach(() => {
  harness = new World();
  world = watched(harness);
});

const put = (Item: Record<string, unknown>) => {
  const TableName = String(Item['pk']).startsWith(IdempotencyRow.record) ? TABLES.idempotency : TABLES.registry;
  return harness.store.database.client.send(new PutCommand({ TableName, Item }));
};
const inquiry = (key = 'overdue') => {
  const paymentId = paymentIdFor(key);
  return { operationId: chargeOperation(paymentId), paymentId, claimedAtMs: harness.clock.nowMs() };
};
/** The run processes no entry. */
async function run(jobId: string, changes: object = {}): Promise<void> {
  harness.clock.advance(MINUTE_MS);
  const accepted = acceptedRun(jobId, harness.clock.nowMs(), harness.clock.nowMs());
  await put(runRow(accepted));
  await put(runRow({ ...accepted, status: 'succeeded', ...changes }));
}

test('an entry is overdue when the number of runs that skipped it exceeds the limit of its queue', async () => {
  await put(inquiryItem(TABLES, inquiry()).Put?.Item ?? {});
  await run('resolve');
  expect(world.now()).not.toContain(ORACLE);
  await run('resolve');
  expect(world.now()).toContain(ORACLE);
});

test('an entry behind others may wait longer than usual, even after the others have left the queue', async () => {
  const others = Array.from({ length: 800 }, (_, place) => inquiry(`other-${place}`));
  for (const each of [...others, inquiry()]) await put(inquiryItem(TABLES, each).Put?.Item ?? {});
  await run('resolve');
  for (const each of others) await harness.store.closeInquiry(each);
  for (let runs = 1; runs < 3; runs += 1) await run('resolve');
  expect(world.now()).not.toContain(ORACLE);
  await run('resolve');
  expect(world.now()).toContain(ORACLE);
});

test('an entry behind many others does not become overdue through runs in which calls of the worker failed', async () => {
  const others = Array.from({ length: 400 }, (_, place) => inquiry(`other-${place}`));
  for (const each of [...others, inquiry()]) await put(inquiryItem(TABLES, each).Put?.Item ?? {});
  const fault = { name: 'job 1/1', kind: 'ambiguous_lost', label: 'dynamodb PutCommand', of: 'payment-jobs' } as const;
  for (let runs = 0; runs < 4; runs += 1) {
    world.faults.push({ ...fault, atMs: harness.clock.nowMs() + MINUTE_MS });
    await run('resolve');
  }
  expect(world.now()).not.toContain(ORACLE);
  for (let runs = 0; runs < 3; runs += 1) await run('resolve');
  expect(world.now()).toContain(ORACLE);
});

test('an entry does not become overdue through runs in which most calls of the worker failed', async () => {
  await put(inquiryItem(TABLES, inquiry()).Put?.Item ?? {});
  const fault = { name: 'job 1/1', kind: 'throttle', label: 'dynamodb UpdateCommand', of: 'payment-jobs' } as const;
  for (let runs = 0; runs < 9; runs += 1) {
    const atMs = harness.clock.nowMs() + MINUTE_MS;
    world.faults.push(...Array.from({ length: 26 }, () => ({ ...fault, atMs })));
    await run('resolve');
  }
  expect(world.now()).not.toContain(ORACLE);
  for (let runs = 0; runs < 3; runs += 1) await run('resolve');
  expect(world.now()).toContain(ORACLE);
});

test('an entry does not become overdue through runs of other jobs, or runs that report its queue as skipped', async () => {
  await put(inquiryItem(TABLES, inquiry()).Put?.Item ?? {});
  for (let runs = 0; runs < 9; runs += 1) {
    await run('retry-orphans');
    await run('resolve', { failed: 1, skipped: ['inquiries'] });
  }
  expect(world.now()).not.toContain(ORACLE);
});

test('an entry becomes overdue although other queues fail in each run', async () => {
  await put(inquiryItem(TABLES, inquiry()).Put?.Item ?? {});
  for (let runs = 0; runs < 4; runs += 1)
    await run('resolve', { failed: 1, skipped: ['claims'], failedItems: ['returns'] });
  expect(world.now()).toContain(ORACLE);
});

test('an orphan that is due for the last time becomes overdue only after the clock of a slow run has reached this time', async () => {
  const nowMs = harness.clock.nowMs();
  await put({ ...QUEUES['orphans']?.row(nowMs - DAY_MS), [RegistryTable.queuesIndex.sortKey]: nowMs });
  for (let runs = 0; runs < 9; runs += 1) await run('retry-orphans');
  expect(world.now()).not.toContain(ORACLE);
  for (let runs = 0; runs < 3; runs += 1) await run('retry-orphans');
  expect(world.now()).toContain(ORACLE);
});

describe.each(Object.entries(QUEUES))('the queue of %s', (_name, { job, row }) => {
  const overdueAfter = async (runs: number): Promise<boolean> => {
    for (let count = 0; count < runs; count += 1) await run(job);
    return world.now().includes(ORACLE);
  };

  test('has an overdue entry after two runs that do not handle the entry', async () => {
    await put(row(harness.clock.nowMs()));
    harness.clock.advance(45 * DAY_MS);
    expect(await overdueAfter(1)).toBe(false);
    expect(await overdueAfter(1)).toBe(true);
  });

  test('has no overdue entry before the entry is due', async () => {
    await put(row(harness.clock.nowMs() + 9 * MINUTE_MS));
    expect(await overdueAfter(8)).toBe(false);
  });

  test('must have no entry that is due a month later than the queue allows', async () => {
    await put(row(harness.clock.nowMs()));
    expect(world.now()).not.toContain(ORACLE);
    await put(row(harness.clock.nowMs() + 31 * DAY_MS));
    expect(world.now()).toContain(ORACLE);
  });
});

test.each([
  ['a commission', 'release-commissions', commissionDue],
  ['a hold', 'expire-authorizations', hold],
])('a run may leave %s in its queue if the run counts the entry', async (_name, job, row) => {
  await put(row(harness.clock.nowMs()));
  harness.clock.advance(45 * DAY_MS);
  for (let runs = 0; runs < 9; runs += 1) await run(job, runs < 5 ? { left: 1 } : { failed: 1 });
  expect(world.now()).not.toContain(ORACLE);
});

test('a claim without a due time is reported immediately', async () => {
  const { openShard: _shard, ...unlisted } = claim(harness.clock.nowMs());
  await put(unlisted);
  expect(world.now()).toContain(ORACLE);
});

test('an entry that is processed or not due is not overdue', async () => {
  const asked = inquiry();
  await put(inquiryItem(TABLES, asked).Put?.Item ?? {});
  for (let runs = 0; runs < 9; runs += 1) {
    await run('resolve');
    const dueAtMs = harness.clock.nowMs() + (runs < 5 ? 0 : 9 * MINUTE_MS);
    if (runs < 6) await harness.store.postponeInquiry(asked, { dueAtMs, undecidable: false });
  }
  expect(world.now()).not.toContain(ORACLE);
});

test('an entry that is in no queue is reported immediately', async () => {
  const { queue: _queue, ...unlisted } = inquiryItem(TABLES, inquiry()).Put?.Item ?? {};
  await put(unlisted);
  expect(world.now()).toContain(ORACLE);
});
