import { PutCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { RegistryRow } from '../../lambdas/kernel/contract/rows.ts';
import { MAX_PAYMENTS, MAX_TENANT_PAYMENTS } from '../../lambdas/kernel/contract/shards.ts';
import { type OrderId, storedOperationId, tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { openRecordItem } from '../../lambdas/once/store/record-items.ts';
import { DynamoDbQueues } from '../../lambdas/operators/store/dynamodb-queues.ts';
import { holdItem, inquiryItem, openOrderRow } from '../../lambdas/payments/store/queue-items.ts';
import type { Hold, Inquiry, OpenOrder } from '../../lambdas/payments/use/payment-store.ts';
import { positionAt } from '../../lambdas/payments/use/transition-reader.ts';
import { DynamoDbUnfinishedWork } from '../../lambdas/resolving/store/dynamodb-unfinished.ts';
import { newDelivery } from '../../lambdas/webhooks/domain/webhook-delivery.ts';
import { webhookMessage } from '../../lambdas/webhooks/use/fan-out-webhooks.ts';
import { openRecord, paymentIdFor } from '../payments/payment-fixtures.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { PEAK, setPeakRates } from '../support/peak-rates.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { takenAt } from '../views/ledger-reader-suite.ts';
import { endpointNamed, eventNamed, OWNER } from '../webhooks/webhook-fixtures.ts';
import type { Item } from '../world/dynamodb-values.ts';
import { Stores } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';

/** Raised twice, and then lowered to the default rates. */
const ENTRIES = [
  { from: '2026-03-03', ...PEAK },
  { from: '2026-03-05', payments: MAX_PAYMENTS, tenantPayments: MAX_TENANT_PAYMENTS },
  { from: '2026-03-07', payments: 1_000, tenantPayments: 1_000 },
];
/** A time before the first entry of `ENTRIES`, and one after each entry, in Unix milliseconds. */
const TIMES = [1, 4, 6, 8].map((day) => Date.UTC(2026, 2, day, 12));
const [BEFORE = 0] = TIMES;
const LAST = TIMES.at(-1) ?? 0;
const COUNT = 40;
const TOTAL = COUNT * TIMES.length;
const ALL = { untilMs: Number.MAX_SAFE_INTEGER, limit: 10 * TOTAL };
const keys = Array.from({ length: COUNT }, (_, index) => `raised-${index}`);

let clock: SimulatedClock;
let stores: Stores;

beforeEach(() => {
  clock = new SimulatedClock(LAST + 3_600_000);
  stores = new Stores(clock);
});
afterEach(() => setPeakRates());

const putAll = (table: 'idempotency' | 'registry', rows: readonly Item[]) =>
  Promise.all(rows.map((Item) => stores.database.client.send(new PutCommand({ TableName: TABLES[table], Item }))));
const partitionsOf = (prefix: string) =>
  new Set(stores.database.items(TABLES.registry, prefix).map(({ pk }) => pk as string));

/** The rows are written with the peak rates that are set at their time. */
async function atAllTimes(write: (key: string, atMs: number) => Promise<unknown>): Promise<void> {
  for (const [index, atMs] of TIMES.entries()) {
    setPeakRates(...ENTRIES.slice(0, index));
    for (const key of keys) await write(`${key}-${index}`, atMs);
  }
}

describe('after the peak rates were raised twice and lowered, rows written at each rate are found', () => {
  test('in the index of open claims', async () => {
    await atAllTimes((key, claimedAtMs) => {
      const record = openRecord(paymentIdFor(key), { claimedAtMs, leaseExpiresAtMs: claimedAtMs + 30_000 });
      return putAll('idempotency', [openRecordItem(record) as Item]);
    });
    expect(await stores.staleClaims({ ...ALL, untilMs: clock.nowMs() })).toHaveLength(TOTAL);
    const shards = stores.database.items(TABLES.idempotency).map(({ openShard }) => Number(openShard));
    expect(Math.max(...shards)).toBeGreaterThan(31);
  });

  test('in the index of outcomes, in their order', async () => {
    await atAllTimes((key, atMs) =>
      stores.write(takenAt({ tenantId: tenantId('ten_raised'), mode: 'test' }, key, atMs)),
    );
    const { outcomes, isLast } = await stores.ledger.outcomesAfter(positionAt(BEFORE - 1), LAST + 1, 10 * TOTAL);
    expect([outcomes.length, isLast]).toEqual([TOTAL, true]);
    expect(outcomes.map(({ position }) => position)).toEqual(outcomes.map(({ position }) => position).toSorted());
  });

  test('in the queue of inquiries, whose entries can be postponed and closed', async () => {
    await atAllTimes((key, claimedAtMs) => {
      const inquiry: Inquiry = { operationId: storedOperationId(key), paymentId: paymentIdFor(key), claimedAtMs };
      return putAll('registry', [inquiryItem(TABLES, inquiry).Put?.Item ?? {}]);
    });
    const found = await stores.unknownOutcomes(ALL);
    expect(found).toHaveLength(TOTAL);
    expect(partitionsOf(RegistryRow.inquiry).size).toBeGreaterThan(8);
    for (const inquiry of found)
      await stores.postponeInquiry(inquiry, { dueAtMs: clock.nowMs() + 1, undecidable: false });
    expect(await stores.unknownOutcomes(ALL)).toHaveLength(TOTAL);
    for (const inquiry of await stores.unknownOutcomes(ALL)) await stores.closeInquiry(inquiry);
    expect(stores.queued('inquiry')).toBe(0);
  });

  test('in the queue of open orders, whose entries can be postponed and closed', async () => {
    await atAllTimes((key, createdAtMs) => {
      const orderId = paymentIdFor(key).replace('pay_', 'ord_') as OrderId;
      const order: OpenOrder = { orderId, createdAtMs, sequence: 1 };
      return putAll('registry', [openOrderRow(order) as Item]);
    });
    for (const order of await stores.openOrders(ALL)) await stores.postponeOrder(order, clock.nowMs() + 1);
    const found = await stores.openOrders(ALL);
    expect(found).toHaveLength(TOTAL);
    for (const order of found) await stores.closeOrder(order);
    expect(partitionsOf(RegistryRow.openOrder).size).toBe(0);
  });

  test('page by page in the queue of holds, whose entries can be closed', async () => {
    await atAllTimes((key, authorizedAtMs) => {
      const hold: Hold = { paymentId: paymentIdFor(key), authorizedAtMs };
      return putAll('registry', [holdItem(TABLES, hold).Put?.Item ?? {}]);
    });
    const found: Hold[] = [];
    let cursor: string | undefined;
    do {
      const page = await stores.holds.dueBefore(clock.nowMs(), {
        limit: 5,
        ...(cursor === undefined ? {} : { cursor }),
      });
      found.push(...page.rows.map(({ row }) => row));
      cursor = page.next;
    } while (cursor !== undefined);
    expect(new Set(found.map(({ paymentId }) => paymentId)).size).toBe(TOTAL);
    const queues = new DynamoDbQueues(stores.database.client, TABLES, { clock, entropy: countingEntropy() });
    expect((await queues.summary('holds')).waiting).toBe(TOTAL);
    for (const hold of found) await stores.holds.close(hold);
    expect(stores.holdsLeft()).toEqual([]);
  });

  test('among the deliveries of an endpoint, in the queue of due webhooks, and in the lane of the endpoint', async () => {
    const endpoint = endpointNamed('raised');
    const ids: string[] = [];
    await atAllTimes(async (key, atMs) => {
      const message = webhookMessage(eventNamed(key, atMs));
      const now = newDelivery(systemDigest, OWNER, endpoint, message, atMs);
      ids.push(now.id);
      expect(await stores.webhooks.write({ deliveries: [{ now }] })).toEqual({ kind: 'written' });
    });
    const listed = await stores.webhooks.listDeliveries(endpoint.id, { limit: 10 * TOTAL });
    expect(listed.map(({ id }) => id)).toEqual(ids.toSorted().toReversed());
    for (const id of ids) expect((await stores.webhooks.readDelivery(endpoint.id, id))?.id).toBe(id);
    expect(partitionsOf(RegistryRow.webhookDelivery).size).toBeGreaterThan(8);
    const found = await stores.webhooks.due(clock.nowMs(), 100 * TOTAL);
    expect(found).toHaveLength(TOTAL);
    for (const due of found) await stores.webhooks.move(due, { sweepAtMs: due.sweepAtMs, apart: true });
    expect(await stores.webhooks.due(clock.nowMs(), 100 * TOTAL)).toEqual([]);
    expect(await stores.webhooks.dueInLane(endpoint.id, 10 * TOTAL)).toHaveLength(TOTAL);
  });
});

test('a read of a queue requests at least its limit of rows, and at most 32 times as many, even at the maximum rates', async () => {
  let requested = 0;
  const { client } = stores.database;
  const send = (command: Parameters<typeof client.send>[0]): Promise<unknown> => {
    if (command instanceof QueryCommand) requested += command.input.Limit ?? Infinity;
    return client.send(command);
  };
  const counted = Object.create(client, { send: { value: send } }) as typeof client;
  const work = new DynamoDbUnfinishedWork(counted, TABLES, { clock, entropy: countingEntropy() });
  const due = { untilMs: clock.nowMs(), limit: 1_000 };
  for (const rates of [[], [{ from: '2026-03-03', payments: MAX_PAYMENTS, tenantPayments: MAX_TENANT_PAYMENTS }]]) {
    setPeakRates(...rates);
    for (const queue of ['staleClaims', 'unknownOutcomes', 'routineInquiries'] as const) {
      requested = 0;
      await work[queue](due);
      expect(requested).toBeGreaterThanOrEqual(due.limit);
      expect(requested).toBeLessThanOrEqual(32 * due.limit);
    }
  }
});
