import { expect, test } from '@jest/globals';
import { JOB_PAGE_SECONDS } from '../../lambdas/jobs/contract/jobs.ts';
import { REQUEST_BUDGET_SECONDS } from '../../lambdas/kernel/contract/timing.ts';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import type { PaymentId } from '../../lambdas/kernel/ids.ts';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import type { UnfinishedWork } from '../../lambdas/payments/use/unfinished-work.ts';
import { observedWork } from '../../lambdas/resolving/use/observed-work.ts';
import { resolveInquiries } from '../../lambdas/resolving/use/resolve.ts';
import { resolveJob } from '../../lambdas/resolving/use/resolve-all.ts';
import { resolveOrders } from '../../lambdas/resolving/use/resolve-orders.ts';
import { sweepAll } from '../jobs/sweep-all.ts';
import { sweepJob } from '../jobs/sweep-job.ts';
import { orderRequest } from '../orders/order-fixtures.ts';
import { openRecord, paymentIdFor, paymentRequest } from '../payments/payment-fixtures.ts';
import { ordersOf } from '../support/faulty-ports.ts';
import { World } from '../world/world.ts';

const MINUTE_MS = 60_000;
const LATE = 'late@example.com';

/** Creates a charged payment with a 202 response and a lost callback. */
async function lostCallback(harness: World) {
  const request = paymentRequest('lost');
  const blind = {
    ...harness.processor,
    charge: async (...call: Parameters<typeof harness.processor.charge>) => {
      await harness.processor.charge(...call);
      throw new AmbiguousError('processor_timeout', 'no');
    },
    findCharge: () => Promise.reject(new RetryableError('processor_unreachable', 'no')),
  };
  expect(await harness.pay(request, { processor: blind })).toMatchObject({ answer: { status: 202 } });
  return request;
}

test('many payments whose outcomes take days fill every run, but do not block the outcome of a later payment', async () => {
  const harness = new World();
  for (let each = 0; each < 120; each += 1) await harness.pay(paymentRequest(`debit-${each}`, { source: 'tok_async' }));
  const lost = await lostCallback(harness);
  const processor = {
    ...harness.processor,
    findCharge: async (...call: Parameters<typeof harness.processor.findCharge>) => {
      harness.clock.advance(300);
      return harness.processor.findCharge(...call);
    },
  };
  const startedAtMs = harness.clock.nowMs();
  for (let minute = 1; minute <= 5; minute += 1) {
    harness.clock.advance(startedAtMs + minute * MINUTE_MS - harness.clock.nowMs());
    await resolveInquiries({ ...harness.tools, processor });
  }
  expect((await harness.chain(lost)).state.payment.status).toBe('succeeded');
});

test('no look-up starts after the deadline of the run', async () => {
  const harness = new World();
  const lost = await lostCallback(harness);
  const deadlineMs = harness.clock.nowMs();
  expect(await resolveInquiries({ ...harness.tools, deadlineMs })).toMatchObject({ finished: 0, waiting: 1 });
  expect((await harness.chain(lost)).state.payment.status).toBe('processing');
  expect(await resolveInquiries({ ...harness.tools, deadlineMs: deadlineMs + 1 })).toMatchObject({ finished: 1 });
});

test('orders with e-mails that are delayed for days fill every run, but do not block a later order', async () => {
  const harness = new World();
  const timeout = () => new AmbiguousError('postmark_timeout', 'no');
  const mailer = {
    send: async (...call: Parameters<typeof harness.mailer.send>) => {
      if (call[0].to === LATE) return harness.mailer.send(...call);
      harness.clock.advance(3_900);
      throw timeout();
    },
  };
  for (let each = 0; each < 10; each += 1) await harness.order(orderRequest(`slow-${each}`), { mailer });
  const late = orderRequest('late', { email: LATE });
  await harness.order(late, { mailer: { send: () => Promise.reject(timeout()) } });
  const startedAtMs = harness.clock.nowMs();
  for (let minute = 1; minute <= 120; minute += 1) {
    harness.clock.advance(Math.max(0, startedAtMs + minute * MINUTE_MS - harness.clock.nowMs()));
    await harness.resolve({ mailer });
  }
  expect((await harness.read(late)).email.status).toBe('sent');
});

test('one run works on an order no longer than a request does; the next run continues', async () => {
  const harness = new World();
  const late = orderRequest('slow');
  const unavailable = () => Promise.reject(new RetryableError('stock_timeout', 'no'));
  await harness.order(late, { stock: { ...harness.stock, reserve: unavailable } });
  const slow = {
    ...harness.stock,
    reserve: (...call: Parameters<typeof harness.stock.reserve>) => {
      harness.clock.advance(REQUEST_BUDGET_SECONDS * 1000);
      return harness.stock.reserve(...call);
    },
  };
  harness.clock.advance(MINUTE_MS);
  await resolveOrders({ ...harness.tools, stock: slow });
  expect(harness.mailer.outbox).toHaveLength(0);
  harness.clock.advance(MINUTE_MS);
  await resolveOrders(harness.tools);
  expect(harness.mailer.outbox).toHaveLength(1);
});

test('if all queues are full and slow, each gets its share of the time, and the run ends within a minute', async () => {
  const harness = new World();
  const { clock, store } = harness;
  const startedAtMs = clock.nowMs();
  const ids = Array.from({ length: 1_000 }, (_, each) => each);
  const begun: Record<string, number> = {};
  const handled: Record<string, number> = {};
  /** The read takes 40 ms and finds nothing, so that the entry is closed. */
  const read = (queue: string) => async () => {
    begun[queue] ??= clock.nowMs() - startedAtMs;
    handled[queue] = (handled[queue] ?? 0) + 1;
    clock.advance(40);
    return [];
  };
  const paymentOf = (queue: string) => ids.map((each) => paymentIdFor(`${queue}-${each}`));
  const queues = new Map(['claims', 'unknown', 'routine', 'returns'].map((queue) => [queue, paymentOf(queue)]));
  const queueOf = (id: string) => [...queues].find(([, all]) => all.some((each) => each === id))?.[0] ?? 'orders';
  const rows =
    <Row>(queue: string, row: (paymentId: PaymentId) => Row) =>
    async () =>
      (queues.get(queue) ?? []).map(row);
  const inquiry = (paymentId: PaymentId) => ({
    operationId: chargeOperation(paymentId),
    paymentId,
    claimedAtMs: startedAtMs,
  });
  const work: UnfinishedWork = {
    ...observedWork(store, clock, () => undefined),
    staleClaims: rows('claims', (paymentId) => openRecord(paymentId)),
    unknownOutcomes: rows('unknown', inquiry),
    routineInquiries: rows('routine', (paymentId) => ({ ...inquiry(paymentId), waitsFor: 'bank' as const })),
    chargesToReturn: rows('returns', (paymentId) => ({
      paymentId,
      chargeId: 'ch_1',
      by: 'refund' as const,
      foundAtMs: startedAtMs,
    })),
  };
  const orders = {
    ...ordersOf(harness.actor('orders'), store),
    openOrders: async () =>
      ids.map((each) => ({ orderId: orderRequest(`${each}`).orderId, createdAtMs: startedAtMs, sequence: 1 })),
    listOrderTransitions: read('orders'),
  };
  const payments = { ...harness.storeMethods(), listTransitions: (id: string) => read(queueOf(id))() };
  const job = resolveJob({ ...harness.tools, store: payments, work, orders, onResolved: () => undefined });
  await sweepJob(job, { nowMs: startedAtMs });
  expect(Object.keys(begun)).toEqual(['claims', 'unknown', 'routine', 'returns', 'orders']);
  for (const count of Object.values(handled)) expect(count).toBeGreaterThan(10_000 / 40);
  expect(clock.nowMs() - startedAtMs).toBeLessThanOrEqual(JOB_PAGE_SECONDS * 1000);
  expect(harness.reported).toEqual([]);
});

test('an unreadable queue is reported, and does not block the following queues', async () => {
  const harness = new World();
  const lost = await lostCallback(harness);
  const onResolved: unknown[] = [];
  const results = await sweepAll({
    ...harness.tools,
    report: (error) => harness.reported.push(error),
    work: {
      ...observedWork(harness.store, harness.clock, () => undefined),
      staleClaims: () => Promise.reject(new RetryableError('store_unavailable', 'throttled')),
    },
    orders: harness.store,
    books: [harness.processor],
    onResolved: (queue, resolved) => onResolved.push([queue, resolved]),
  });
  expect(results).toMatchObject({ claims: { failed: 1 }, inquiries: { finished: 1 }, returns: { failed: 0 } });
  expect(onResolved).toContainEqual(['claims', expect.objectContaining({ finished: 0, failed: 1 })]);
  expect(harness.reported).toMatchObject([{ code: 'store_unavailable' }]);
  expect((await harness.chain(lost)).state.payment.status).toBe('succeeded');
});
