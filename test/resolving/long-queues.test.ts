import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { callbackOperation } from '../../lambdas/callbacks/ids.ts';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { type OrderId, ownerToken, storedOperationId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { openRecordItem } from '../../lambdas/once/store/record-items.ts';
import type { OrderStore } from '../../lambdas/orders/use/order-store.ts';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import { inquiryItem, openOrderRow, returnItem } from '../../lambdas/payments/store/queue-items.ts';
import type { ChargeToReturn, Inquiry, OpenOrder } from '../../lambdas/payments/use/payment-store.ts';
import { resolveClaims, resolveInquiries } from '../../lambdas/resolving/use/resolve.ts';
import { resolveOrders } from '../../lambdas/resolving/use/resolve-orders.ts';
import { retryOrphans } from '../../lambdas/resolving/use/retry-orphans.ts';
import { returnCharges } from '../../lambdas/resolving/use/return-charges.ts';
import { openRecord, paymentIdFor } from '../payments/payment-fixtures.ts';
import { inTurn, whole } from '../support/slice.ts';
import { TABLES } from '../world/tables.ts';
import { World } from '../world/world.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Number of entries in a queue, and maximum number of reads per run. */
const { entries: ENTRIES, looks: LOOKS } = whole(
  { entries: 25_000, looks: 1_000 },
  { slice: { entries: 250, looks: 10 } },
);
/** Duration of one read, in milliseconds. All reads of a run together take 11 seconds. */
const LOOK_MS = 11_000 / LOOKS;
/** Time to read all entries once, in milliseconds. */
const ALLOWANCE_MS = Math.ceil(ENTRIES / LOOKS) * MINUTE_MS;
const LONG_MS = 600_000;

let harness: World;
/** The times of all reads of each entry, in Unix milliseconds. */
let looked: Map<string, number[]>;
let startedAtMs: number;
beforeEach(() => {
  harness = new World();
  looked = new Map();
  startedAtMs = harness.clock.nowMs();
});

const put = (Item: Record<string, unknown>, TableName: string = TABLES.registry) =>
  harness.store.database.client.send(new PutCommand({ TableName, Item }));
const names = (prefix: string, count = ENTRIES) => Array.from({ length: count }, (_, each) => `${prefix}-${each}`);
/** Returns a time for the entry, in Unix milliseconds. The times of all entries are spread evenly between two ages. */
const spread = (each: number, fromMs: number, toMs: number) =>
  startedAtMs - fromMs - Math.floor(((toMs - fromMs) * each) / ENTRIES);

/** Simulates a read that finds no outcome, so that the entry stays. */
function look(name: string): Promise<never> {
  looked.set(name, [...(looked.get(name) ?? []), harness.clock.nowMs()]);
  harness.clock.advance(LOOK_MS);
  return Promise.reject(new RetryableError('processor_unreachable', 'no'));
}

/** Runs the job every minute. A run starts late if the previous run is still busy. */
async function run(
  minutes: number,
  job: (scheduledForMs: number) => Promise<unknown>,
  before?: (minute: number) => Promise<unknown>,
) {
  for (let minute = 1; minute <= minutes; minute += 1) {
    const scheduledForMs = startedAtMs + minute * MINUTE_MS;
    harness.clock.advance(Math.max(0, scheduledForMs - harness.clock.nowMs()));
    await before?.(minute);
    await job(harness.clock.nowMs());
    harness.reported.length = 0;
  }
}

/** Returns the longest time between two reads, or between the last read and now, in milliseconds. */
const longestGapMs = (name: string): number => {
  const times = looked.get(name) ?? [startedAtMs];
  return Math.max(...[...times, harness.clock.nowMs()].slice(1).map((atMs, index) => atMs - (times[index] ?? atMs)));
};
const worstMs = (all: readonly string[]): number => Math.max(...all.map(longestGapMs));

describe('an unknown outcome', () => {
  const inquiries = () => (scheduledForMs: number) =>
    resolveInquiries(
      {
        ...harness.tools,
        store: { ...harness.storeMethods(), listTransitions: (paymentId) => look(paymentId) },
        work: harness.store,
      },
      scheduledForMs,
    );
  const queue = (paymentId: ReturnType<typeof paymentIdFor>, changes: Partial<Inquiry> = {}) => {
    const inquiry = {
      operationId: chargeOperation(paymentId),
      paymentId,
      claimedAtMs: harness.clock.nowMs(),
      ...changes,
    };
    return put(inquiryItem(TABLES, inquiry).Put?.Item ?? {});
  };

  inTurn(test, { place: 2, of: 3, otherwise: test.skip })(
    'is checked within a minute, although the queue contains many disputes that are checked once a day',
    async () => {
      const disputed = names('disputed').map((name) => paymentIdFor(name));
      for (const [each, paymentId] of disputed.entries()) {
        const operationId = storedOperationId(`dp_${paymentId}`);
        await queue(paymentId, { operationId, claimedAtMs: spread(each, 2 * DAY_MS, 40 * DAY_MS), waitsFor: 'bank' });
      }
      const unknown = new Map<string, number>();
      await run(3 * 24 * 60, inquiries(), async (minute) => {
        if (minute % 97 !== 0) return;
        const paymentId = paymentIdFor(`unknown-${minute}`);
        unknown.set(paymentId, harness.clock.nowMs());
        await queue(paymentId);
      });
      const waits = [...unknown].map(
        ([paymentId, sinceMs]) => (looked.get(paymentId)?.[0] ?? Number.POSITIVE_INFINITY) - sinceMs,
      );
      expect(waits.length).toBeGreaterThan(40);
      expect(Math.max(...waits)).toBeLessThanOrEqual(MINUTE_MS);
      expect(disputed.filter((paymentId) => (looked.get(paymentId)?.length ?? 0) < 2)).toEqual([]);
      expect(worstMs(disputed)).toBeLessThanOrEqual(DAY_MS + ALLOWANCE_MS);
    },
    LONG_MS,
  );

  test(
    'is checked within a minute despite many unknown outcomes that wait for an operator',
    async () => {
      const stuck = names('stuck').map((name) => paymentIdFor(name));
      for (const [each, paymentId] of stuck.entries())
        await queue(paymentId, { claimedAtMs: spread(each, DAY_MS, 2 * DAY_MS), undecidable: true });
      const newest = paymentIdFor('newest');
      await run(120, inquiries(), (minute) => (minute === 20 ? queue(newest) : Promise.resolve()));
      expect(looked.get(newest)?.[0]).toBeLessThanOrEqual(startedAtMs + 21 * MINUTE_MS);
      expect(worstMs(stuck)).toBeLessThanOrEqual(15 * MINUTE_MS + ALLOWANCE_MS);
    },
    LONG_MS,
  );

  test(
    'is checked within its interval plus the time to check all entries of the queue',
    async () => {
      const all = names('all').map((name) => paymentIdFor(name));
      for (const [each, paymentId] of all.entries())
        await queue(paymentId, { claimedAtMs: spread(each, DAY_MS, 2 * DAY_MS) });
      await run(120, inquiries());
      expect(all.filter((paymentId) => (looked.get(paymentId)?.length ?? 0) < 2)).toEqual([]);
      expect(worstMs(all)).toBeLessThanOrEqual(15 * MINUTE_MS + ALLOWANCE_MS);
    },
    LONG_MS,
  );
});

test(
  'a charge to return is checked within its interval plus the time to check all such charges',
  async () => {
    const owed = names('owed').map((name) => paymentIdFor(name));
    for (const [each, paymentId] of owed.entries()) {
      const charge: ChargeToReturn = {
        paymentId,
        chargeId: `ch_${each}`,
        by: 'refund',
        foundAtMs: spread(each, DAY_MS, 2 * DAY_MS),
      };
      await put(returnItem(TABLES, charge).Put?.Item ?? {});
    }
    const store = { ...harness.storeMethods(), listTransitions: (paymentId: string) => look(paymentId) };
    await run(120, (scheduledForMs) => returnCharges({ ...harness.tools, store, work: harness.store }, scheduledForMs));
    expect(owed.filter((paymentId) => (looked.get(paymentId)?.length ?? 0) < 2)).toEqual([]);
    expect(worstMs(owed)).toBeLessThanOrEqual(15 * MINUTE_MS + ALLOWANCE_MS);
  },
  LONG_MS,
);

test(
  'an open order is processed within its interval plus the time for all open orders, in any minute of the hour',
  async () => {
    const open = names('order').map((name) => `ord_${paymentIdFor(name).slice('pay_'.length)}` as OrderId);
    for (const [each, orderId] of open.entries()) {
      const order: OpenOrder = { orderId, createdAtMs: spread(each, 2 * DAY_MS, 20 * DAY_MS), sequence: 2 };
      await put(openOrderRow(order));
    }
    const { store } = harness;
    const orders: OrderStore = {
      claimOrder: (claim) => store.claimOrder(claim),
      commitOrder: (commit) => store.commitOrder(commit),
      appendToOrder: (append) => store.appendToOrder(append),
      listOrderTransitions: (orderId) => look(orderId),
      openOrders: (due) => store.openOrders(due),
      postponeOrder: (...next) => store.postponeOrder(...next),
      closeOrder: (order) => store.closeOrder(order),
    };
    await run(180, (scheduledForMs) => resolveOrders({ ...harness.tools, orders }, scheduledForMs));
    expect(open.filter((orderId) => (looked.get(orderId)?.length ?? 0) < 2)).toEqual([]);
    expect(worstMs(open)).toBeLessThanOrEqual(HOUR_MS + ALLOWANCE_MS);
  },
  LONG_MS,
);

test(
  'an orphaned callback is retried every minute, although the queue contains many callbacks for other programs, each read only a few times',
  async () => {
    const orphan = (chargeId: string, receivedAtMs: number, isForeign = false) => {
      const operationId = callbackOperation(systemDigest, 'memory', chargeId);
      const event = {
        processorName: harness.processor.name,
        mode: 'test',
        eventId: chargeId,
        type: 'any',
        chargeId,
      } as const;
      const record = { operationId, owner: ownerToken('owner-orphan'), recordedAtMs: receivedAtMs };
      const found = {
        operationId,
        event,
        reason: 'payment_unknown',
        receivedAtMs,
        ...(isForeign ? { isForeign } : {}),
      } as const;
      return harness.store.recordEffect({ record, transitions: [], orphan: found });
    };
    const foreign = names('ch_foreign');
    for (const [each, chargeId] of foreign.entries()) await orphan(chargeId, spread(each, 0, HOUR_MS), true);
    const charge = { ...(await harness.processor.inside.charge({ amountMinor: 1 })) };
    const shown = await harness.processor.readCharge(charge.chargeId, { timeoutMs: 1 });
    const { paymentId: _paymentId, ...nameless } = shown as NonNullable<typeof shown>;
    const books = {
      ...harness.processor,
      readCharge: async (chargeId: string) => {
        looked.set(chargeId, [...(looked.get(chargeId) ?? []), harness.clock.nowMs()]);
        harness.clock.advance(LOOK_MS);
        return chargeId === 'ch_own' ? undefined : { ...nameless, chargeId };
      },
    };
    await run(
      90,
      (scheduledForMs) => retryOrphans({ ...harness.tools, books: [books] }, scheduledForMs),
      (minute) => (minute === 10 ? orphan('ch_own', harness.clock.nowMs()) : Promise.resolve()),
    );
    expect(new Set(looked.get('ch_own')).size).toBeGreaterThanOrEqual(60);
    const reads = foreign.map((chargeId) => looked.get(chargeId)?.length ?? 0);
    // A retry reads the charge twice.
    expect(Math.max(...reads)).toBeLessThanOrEqual(2 * 10);
    expect(Math.min(...reads)).toBeGreaterThan(0);
  },
  LONG_MS,
);

test(
  'a stale claim is finished by the next run despite many released or owned claims',
  async () => {
    const claim = (name: string, changes: Parameters<typeof openRecord>[1]) =>
      put(openRecordItem(openRecord(paymentIdFor(name), changes)), TABLES.idempotency);
    for (const [each, name] of names('released').entries()) {
      const claimedAtMs = spread(each, 0, 14 * MINUTE_MS);
      const isReleased = each % 2 === 0;
      const lease = isReleased ? { released: true, leaseExpiresAtMs: 0 } : { leaseExpiresAtMs: startedAtMs + HOUR_MS };
      await claim(name, { claimedAtMs, ...lease });
    }
    const stale = paymentIdFor('stale');
    await claim('stale', { claimedAtMs: startedAtMs - 30_000, leaseExpiresAtMs: startedAtMs - 5_000 });
    const store = { ...harness.storeMethods(), listTransitions: (paymentId: string) => look(paymentId) };
    await run(1, () => resolveClaims({ ...harness.tools, store, work: harness.store }));
    expect(looked.get(stale)).toHaveLength(1);
  },
  LONG_MS,
);
