import { expect, test } from '@jest/globals';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import { resolveInquiries } from '../../lambdas/resolving/use/resolve.ts';
import { ChangeDesk } from '../support/change-desk.ts';
import { OrderDesk, orderRequest } from '../support/order-desk.ts';
import { paymentRequest } from '../support/payment-fixtures.ts';
import { sweepAll } from '../support/sweep-all.ts';

const MINUTE_MS = 60_000;
const LATE = 'late@example.com';

/** Charged, answered 202, and its callback is lost. */
async function lostCallback(desk: ChangeDesk) {
  const request = paymentRequest('lost');
  const blind = {
    ...desk.processor,
    charge: async (...call: Parameters<typeof desk.processor.charge>) => {
      await desk.processor.charge(...call);
      throw new AmbiguousError('processor_timeout', 'no');
    },
    findCharge: () => Promise.reject(new RetryableError('processor_unreachable', 'no')),
  };
  expect(await desk.pay(request, { processor: blind })).toMatchObject({ answer: { status: 202 } });
  return request;
}

test('many payments that take days, and fill every run, do not prevent the outcome of a later one', async () => {
  const desk = new ChangeDesk();
  for (let each = 0; each < 120; each += 1) await desk.pay(paymentRequest(`debit-${each}`, { source: 'tok_async' }));
  const lost = await lostCallback(desk);
  const processor = {
    ...desk.processor,
    findCharge: async (...call: Parameters<typeof desk.processor.findCharge>) => {
      desk.clock.advance(300);
      return desk.processor.findCharge(...call);
    },
  };
  const startedAtMs = desk.clock.nowMs();
  for (let minute = 1; minute <= 5; minute += 1) {
    desk.clock.advance(startedAtMs + minute * MINUTE_MS - desk.clock.nowMs());
    await resolveInquiries({ ...desk.changeTools, processor });
  }
  expect((await desk.chain(lost)).state.payment.status).toBe('succeeded');
});

test('orders whose e-mail is delayed for days, and fill every run, do not prevent a later one from being settled', async () => {
  const desk = new OrderDesk();
  const timeout = () => new AmbiguousError('postmark_timeout', 'no');
  const mailer = {
    send: async (...call: Parameters<typeof desk.mailer.send>) => {
      if (call[0].to === LATE) return desk.mailer.send(...call);
      desk.clock.advance(3_900);
      throw timeout();
    },
  };
  for (let each = 0; each < 10; each += 1) await desk.order(orderRequest(`slow-${each}`), { mailer });
  const late = orderRequest('late', { email: LATE });
  await desk.order(late, { mailer: { send: () => Promise.reject(timeout()) } });
  const startedAtMs = desk.clock.nowMs();
  for (let minute = 1; minute <= 120; minute += 1) {
    desk.clock.advance(Math.max(0, startedAtMs + minute * MINUTE_MS - desk.clock.nowMs()));
    await desk.resolve({ mailer });
  }
  expect((await desk.read(late)).email.status).toBe('sent');
});

test('a queue that cannot be read is reported, and does not block the following queues', async () => {
  const desk = new ChangeDesk();
  const lost = await lostCallback(desk);
  const told: unknown[] = [];
  const came = await sweepAll({
    ...desk.changeTools,
    report: (error) => desk.reported.push(error),
    work: {
      staleClaims: () => Promise.reject(new RetryableError('store_unavailable', 'throttled')),
      inquiries: (limit) => desk.store.inquiries(limit),
      closeInquiry: (inquiry) => desk.store.closeInquiry(inquiry),
      chargesToReturn: (limit) => desk.store.chargesToReturn(limit),
      closeReturn: (charge) => desk.store.closeReturn(charge),
    },
    orders: desk.store,
    books: [desk.processor],
    told: (queue, resolved) => told.push([queue, resolved]),
  });
  expect(came).toMatchObject({ claims: { failed: 1 }, inquiries: { finished: 1 }, returns: { failed: 0 } });
  expect(told).toContainEqual(['claims', expect.objectContaining({ finished: 0, failed: 1 })]);
  expect(desk.reported).toMatchObject([{ code: 'store_unavailable' }]);
  expect((await desk.chain(lost)).state.payment.status).toBe('succeeded');
});
