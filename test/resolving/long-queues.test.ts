import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { callbackOperation } from '../../lambdas/callbacks/ids.ts';
import { IdempotencyTable, RegistryTable } from '../../lambdas/kernel/contract/tables.ts';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { type OrderId, ownerToken, type PaymentId, storedOperationId } from '../../lambdas/kernel/ids.ts';
import { type Due, firstLookUpMs, type LookUpSchedule, lookUpIntervalMs } from '../../lambdas/kernel/looks.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { openRecordItem } from '../../lambdas/once/store/record-items.ts';
import type { OrderStore } from '../../lambdas/orders/use/order-store.ts';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import { inquiryItem, openOrderRow, returnItem } from '../../lambdas/payments/store/queue-items.ts';
import { orphanSchedule } from '../../lambdas/payments/use/effect-store.ts';
import {
  type ChargeToReturn,
  type Inquiry,
  inquirySchedule,
  type OpenOrder,
} from '../../lambdas/payments/use/payment-store.ts';
import type { OrphanStore, UnfinishedWork } from '../../lambdas/payments/use/unfinished-work.ts';
import { resolveClaims, resolveInquiries } from '../../lambdas/resolving/use/resolve.ts';
import { resolveOrders } from '../../lambdas/resolving/use/resolve-orders.ts';
import { retryOrphans } from '../../lambdas/resolving/use/retry-orphans.ts';
import { returnCharges } from '../../lambdas/resolving/use/return-charges.ts';
import { openRecord, paymentIdFor, paymentRequest } from '../payments/payment-fixtures.ts';
import { inTurn, whole } from '../support/slice.ts';
import { TABLES } from '../world/tables.ts';
import { World } from '../world/world.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** `looks` is the maximum number of reads per run. */
const { entries: ENTRIES, looks: LOOKS } = whole(
  { entries: 25_000, looks: 1_000 },
  { slice: { entries: 250, looks: 10 } },
);
/** All reads of a run together take 11 seconds. */
const LOOK_MS = 11_000 / LOOKS;
/** Time in which one run a minute reads all entries once, in milliseconds. */
const ALLOWANCE_MS = Math.ceil(ENTRIES / LOOKS) * MINUTE_MS;
const LONG_MS = 600_000;

let harness: World;
/** The times of all reads of each entry, in Unix milliseconds. */
let looked: Map<string, number[]>;
/** The first due time of each entry, in Unix milliseconds. */
let dueMs: Map<string, number>;
let startedAtMs: number;
beforeEach(() => {
  harness = new World();
  looked = new Map();
  dueMs = new Map();
  startedAtMs = harness.clock.nowMs();
});

const put = (Item: Record<string, unknown>, TableName: string = TABLES.registry) => {
  const name = Item['orderId'] ?? Item['paymentId'];
  const dueAtMs = Item[RegistryTable.queuesIndex.sortKey] ?? Item[IdempotencyTable.openClaimsIndex.sortKey];
  if (typeof name === 'string' && typeof dueAtMs === 'number') dueMs.set(name, dueAtMs);
  return harness.store.database.client.send(new PutCommand({ TableName, Item }));
};
const names = (prefix: string, count = ENTRIES) => Array.from({ length: count }, (_, each) => `${prefix}-${each}`);
/** The entries' ages are spread evenly from `fromMs` to `toMs`. */
const spread = (each: number, fromMs: number, toMs: number) =>
  startedAtMs - fromMs - Math.floor(((toMs - fromMs) * each) / ENTRIES);

/** The read finds no outcome, so that the entry stays in its queue. */
function look(name: string): Promise<never> {
  looked.set(name, [...(looked.get(name) ?? []), harness.clock.nowMs()]);
  harness.clock.advance(LOOK_MS);
  return Promise.reject(new RetryableError('processor_unreachable', 'no'));
}

/** Limits a read to what a run can handle, so that no read returns a whole queue. */
const limited = ({ untilMs, limit }: Due): Due => ({ untilMs, limit: Math.min(limit, LOOKS) });

function limitedWork(): UnfinishedWork {
  const { store } = harness;
  return {
    staleClaims: (due) => store.staleClaims(limited(due)),
    postponeClaim: (...next) => store.postponeClaim(...next),
    unknownOutcomes: (due) => store.unknownOutcomes(limited(due)),
    routineInquiries: (due) => store.routineInquiries(limited(due)),
    undetermined: (limit) => store.undetermined(limit),
    closeInquiry: (inquiry) => store.closeInquiry(inquiry),
    postponeInquiry: (...next) => store.postponeInquiry(...next),
    chargesToReturn: (due) => store.chargesToReturn(limited(due)),
    postponeReturn: (...next) => store.postponeReturn(...next),
    closeReturn: (charge) => store.closeReturn(charge),
  };
}

/** A run starts late if the previous run is still busy. */
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

/** The times are the entry's first due time, its reads, and now, in Unix milliseconds. */
const timesOf = (name: string): readonly number[] => {
  const firstMs = Math.max(startedAtMs, dueMs.get(name) ?? 0);
  return [firstMs, ...(looked.get(name) ?? []), harness.clock.nowMs()];
};
const longestGapMs = (name: string): number =>
  Math.max(...timesOf(name).map((atMs, index, times) => (times[index + 1] ?? atMs) - atMs));
const firstWaitMs = (name: string): number => {
  const [firstMs = 0, readMs = Number.POSITIVE_INFINITY] = timesOf(name);
  return looked.has(name) ? readMs - firstMs : Number.POSITIVE_INFINITY;
};
/** An entry is overdue if it waited, at any time, longer than the interval for its age plus the allowance. */
const overdue = (schedules: ReadonlyMap<string, LookUpSchedule>): readonly string[] =>
  [...schedules].flatMap(([name, schedule]) =>
    timesOf(name).some((atMs, index, times) => {
      // The run that read the entry computes the next interval from its own start.
      const intervalMs = index === 0 ? MINUTE_MS : lookUpIntervalMs(schedule, atMs + 2 * MINUTE_MS);
      return (times[index + 1] ?? atMs) - atMs > intervalMs + ALLOWANCE_MS;
    })
      ? [name]
      : [],
  );
const worstMs = (all: readonly string[]): number => Math.max(...all.map(longestGapMs));

describe('an unknown outcome', () => {
  const inquiries = () => (scheduledForMs: number) =>
    resolveInquiries(
      {
        ...harness.tools,
        store: { ...harness.storeMethods(), listTransitions: (paymentId) => look(paymentId) },
        work: limitedWork(),
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
      const atBank = names('disputed').map((name) => paymentIdFor(name));
      for (const [each, paymentId] of atBank.entries()) {
        const operationId = storedOperationId(`dp_${paymentId}`);
        await queue(paymentId, { operationId, claimedAtMs: spread(each, 2 * DAY_MS, 40 * DAY_MS), waitsFor: 'bank' });
      }
      const unknown: string[] = [];
      await run(3 * 24 * 60, inquiries(), async (minute) => {
        if (minute % 97 !== 0) return;
        const paymentId = paymentIdFor(`unknown-${minute}`);
        unknown.push(paymentId);
        await queue(paymentId);
      });
      const waits = unknown.map(firstWaitMs);
      expect(waits.length).toBeGreaterThan(40);
      expect(Math.max(...waits)).toBeLessThanOrEqual(MINUTE_MS);
      expect(atBank.filter((paymentId) => (looked.get(paymentId)?.length ?? 0) < 2)).toEqual([]);
      expect(worstMs(atBank)).toBeLessThanOrEqual(DAY_MS + ALLOWANCE_MS);
    },
    LONG_MS,
  );

  test(
    'is checked within a minute despite many payments that wait for their payers',
    async () => {
      const waiting = new Map<string, LookUpSchedule>();
      for (const [each, name] of names('payer').entries()) {
        const paymentId = paymentIdFor(name);
        const inquiry = { claimedAtMs: spread(each, 0, 20 * DAY_MS), waitsFor: 'payer' } as const;
        waiting.set(paymentId, inquirySchedule({ ...inquiry, paymentId, operationId: chargeOperation(paymentId) }));
        await queue(paymentId, inquiry);
      }
      const newest = paymentIdFor('newest');
      await run(30 * 60, inquiries(), (minute) => (minute === 20 ? queue(newest) : Promise.resolve()));
      expect(firstWaitMs(newest)).toBeLessThanOrEqual(MINUTE_MS);
      expect(overdue(waiting)).toEqual([]);
    },
    LONG_MS,
  );

  test(
    'is checked within the time to check all entries, despite many payments whose charges must all be read',
    async () => {
      const books = names('books').map((name) => paymentIdFor(name));
      for (const [each, paymentId] of books.entries())
        await queue(paymentId, { claimedAtMs: spread(each, DAY_MS, 2 * DAY_MS), waitsFor: 'books' });
      const newest = paymentIdFor('newest');
      await run(120, inquiries(), (minute) => (minute === 20 ? queue(newest) : Promise.resolve()));
      expect(firstWaitMs(newest)).toBeLessThanOrEqual(ALLOWANCE_MS);
      expect(worstMs(books)).toBeLessThanOrEqual(15 * MINUTE_MS + ALLOWANCE_MS);
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
    const queue = (paymentId: PaymentId, foundAtMs: number) => {
      const charge: ChargeToReturn = { paymentId, chargeId: `ch_${paymentId}`, by: 'refund', foundAtMs };
      return put(returnItem(TABLES, charge).Put?.Item ?? {});
    };
    for (const [each, paymentId] of owed.entries()) await queue(paymentId, spread(each, DAY_MS, 2 * DAY_MS));
    const newest = paymentIdFor('newest');
    const store = { ...harness.storeMethods(), listTransitions: (paymentId: string) => look(paymentId) };
    await run(
      120,
      (scheduledForMs) => returnCharges({ ...harness.tools, store, work: limitedWork() }, scheduledForMs),
      (minute) => (minute === 20 ? queue(newest, harness.clock.nowMs()) : Promise.resolve()),
    );
    expect(firstWaitMs(newest)).toBeLessThanOrEqual(ALLOWANCE_MS);
    expect(owed.filter((paymentId) => (looked.get(paymentId)?.length ?? 0) < 2)).toEqual([]);
    expect(worstMs(owed)).toBeLessThanOrEqual(15 * MINUTE_MS + ALLOWANCE_MS);
  },
  LONG_MS,
);

test(
  'an open order is attempted within its interval plus the time to attempt all open orders',
  async () => {
    const open = names('order').map((name) => `ord_${paymentIdFor(name).slice('pay_'.length)}` as OrderId);
    const queue = (orderId: OrderId, createdAtMs: number) => {
      const order: OpenOrder = { orderId, createdAtMs, sequence: 2 };
      return put(openOrderRow(order));
    };
    for (const [each, orderId] of open.entries()) await queue(orderId, spread(each, 2 * DAY_MS, 20 * DAY_MS));
    const newest = `ord_${paymentIdFor('newest').slice('pay_'.length)}` as OrderId;
    const { store } = harness;
    const orders: OrderStore = {
      claimOrder: (claim) => store.claimOrder(claim),
      commitOrder: (commit) => store.commitOrder(commit),
      appendToOrder: (append) => store.appendToOrder(append),
      listOrderTransitions: (orderId) => look(orderId),
      openOrders: (due) => store.openOrders(limited(due)),
      postponeOrder: (...next) => store.postponeOrder(...next),
      closeOrder: (order) => store.closeOrder(order),
    };
    await run(
      180,
      (scheduledForMs) => resolveOrders({ ...harness.tools, orders }, scheduledForMs),
      (minute) => (minute === 20 ? queue(newest, harness.clock.nowMs()) : Promise.resolve()),
    );
    expect(firstWaitMs(newest)).toBeLessThanOrEqual(ALLOWANCE_MS);
    expect(open.filter((orderId) => (looked.get(orderId)?.length ?? 0) < 2)).toEqual([]);
    expect(worstMs(open)).toBeLessThanOrEqual(HOUR_MS + ALLOWANCE_MS);
  },
  LONG_MS,
);

test(
  'an orphaned callback is retried every minute for an hour; callbacks of other programs are retried at most ten times each',
  async () => {
    const schedules = new Map<string, LookUpSchedule>();
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
      schedules.set(chargeId, orphanSchedule(found));
      dueMs.set(chargeId, firstLookUpMs(orphanSchedule(found)));
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
    const { store } = harness;
    const orphanStore: OrphanStore = {
      waiting: (kind, due) => store.waiting(kind, limited(due)),
      postponeOrphan: (...next) => store.postponeOrphan(...next),
      giveUp: (given) => store.giveUp(given),
    };
    await run(
      13 * 60,
      (scheduledForMs) => retryOrphans({ ...harness.tools, orphanStore, books: [books] }, scheduledForMs),
      (minute) => (minute === 10 ? orphan('ch_own', harness.clock.nowMs()) : Promise.resolve()),
    );
    const inFirstHour = timesOf('ch_own').filter((atMs) => atMs <= startedAtMs + 70 * MINUTE_MS);
    expect(inFirstHour.length).toBeGreaterThanOrEqual(60);
    const gaps = inFirstHour.slice(1).map((atMs, index) => atMs - (inFirstHour[index] ?? atMs));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(MINUTE_MS);
    expect(overdue(schedules)).toEqual([]);
    const reads = foreign.map((chargeId) => looked.get(chargeId)?.length ?? 0);
    // A retry reads the charge twice.
    expect(Math.max(...reads)).toBeLessThanOrEqual(2 * 10);
    expect(Math.min(...reads)).toBeGreaterThan(0);
  },
  LONG_MS,
);

const putClaim = (name: string, changes: Parameters<typeof openRecord>[1]) =>
  put(openRecordItem(openRecord(paymentIdFor(name), changes)), TABLES.idempotency);

test(
  'a stale claim is finished within the time to try all stale claims, although none of the earlier ones can be finished',
  async () => {
    const stuck = names('stuck');
    for (const [each, name] of stuck.entries()) {
      const claimedAtMs = spread(each, HOUR_MS, 2 * HOUR_MS);
      await putClaim(name, { claimedAtMs, leaseExpiresAtMs: claimedAtMs + 25_000 });
    }
    const newest = paymentRequest('newest');
    await harness.claimThenDie(newest, true);
    const methods = harness.storeMethods();
    const listTransitions: typeof methods.listTransitions = (paymentId, ...page) =>
      paymentId === newest.paymentId ? methods.listTransitions(paymentId, ...page) : look(paymentId);
    let finishedAtMs = Number.POSITIVE_INFINITY;
    await run(90, async () => {
      await resolveClaims({ ...harness.tools, store: { ...methods, listTransitions }, work: limitedWork() });
      const { status } = (await harness.chain(newest)).state.payment;
      if (status === 'succeeded') finishedAtMs = Math.min(finishedAtMs, harness.clock.nowMs());
    });
    expect(finishedAtMs - startedAtMs).toBeLessThanOrEqual(ALLOWANCE_MS + 2 * MINUTE_MS);
    expect(worstMs(stuck.map((name) => paymentIdFor(name)))).toBeLessThanOrEqual(ALLOWANCE_MS + 2 * MINUTE_MS);
  },
  LONG_MS,
);

test(
  'a stale claim is finished by the next run despite many claims that are released or still have a lease',
  async () => {
    for (const [each, name] of names('released').entries()) {
      const claimedAtMs = spread(each, 0, 14 * MINUTE_MS);
      const isReleased = each % 2 === 0;
      const lease = isReleased ? { released: true, leaseExpiresAtMs: 0 } : { leaseExpiresAtMs: startedAtMs + HOUR_MS };
      await putClaim(name, { claimedAtMs, ...lease });
    }
    const stale = paymentRequest('stale');
    await harness.claimThenDie(stale, true);
    await run(1, () => resolveClaims({ ...harness.tools, work: limitedWork() }));
    expect((await harness.chain(stale)).state.payment.status).toBe('succeeded');
  },
  LONG_MS,
);
