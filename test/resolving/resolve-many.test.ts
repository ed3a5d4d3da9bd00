import { expect, test } from '@jest/globals';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import { observedWork } from '../../lambdas/resolving/use/observed-work.ts';
import { resolveInquiries } from '../../lambdas/resolving/use/resolve.ts';
import { sweepAll } from '../jobs/sweep-all.ts';
import { orderRequest } from '../orders/order-fixtures.ts';
import { paymentRequest } from '../payments/payment-fixtures.ts';
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
