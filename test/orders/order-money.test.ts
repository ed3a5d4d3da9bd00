/** Tests the guarantee "goods for money". */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { receiveCallback } from '../../lambdas/callbacks/receive-callback.ts';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { paymentOfOrder } from '../../lambdas/orders/ids.ts';
import type { CreateOrder } from '../../lambdas/orders/use/create-order.ts';
import { changePayment } from '../../lambdas/payments/use/change-payment.ts';
import type { Processor } from '../../lambdas/payments/use/processor.ts';
import { resolveInquiries } from '../../lambdas/resolving/use/resolve.ts';
import { callback, change, paymentRequest } from '../payments/payment-fixtures.ts';
import { ALL_DUE } from '../support/due.ts';
import { whole } from '../support/slice.ts';
import { World } from '../world/world.ts';
import { orderRequest } from './order-fixtures.ts';

const MINUTE_MS = 60_000;
const DAY_MINUTES = 24 * 60;
/** Minutes between two runs of the jobs during days without events. When deployed, they run once a minute. */
const QUIET_MINUTES = whole(1, { slice: 15 });

let harness: World;
beforeEach(() => {
  harness = new World();
});

const paymentIdOf = ({ orderId }: CreateOrder) => paymentOfOrder(systemDigest, orderId);
const chargeOf = (request: CreateOrder) => {
  const [charge] = harness.processor.charges(paymentIdOf(request));
  if (charge === undefined) throw new Error('nothing was charged');
  return charge;
};
const deliver = (eventId: string, chargeId: string) =>
  receiveCallback({ ...harness.tools, effects: harness.store, books: harness.processor }, callback(eventId, chargeId));
const ended = async (request: CreateOrder) => ({
  status: (await harness.read(request)).status,
  kept: harness.keptMinor(request),
});

function giveBack(request: CreateOrder) {
  const payment = { ...paymentRequest('x'), paymentId: paymentIdOf(request), tenantId: request.tenantId };
  return changePayment(harness.tools, change(payment, 'r', { kind: 'refund' }));
}

test('no charge is requested more than 15 minutes after the order’s claim', async () => {
  const request = orderRequest('slow');
  const claimedAtMs = harness.clock.nowMs();
  const sentAtMs: number[] = [];
  let asked = 0;
  // The breaker opens after the check for the order and before the check for its payment, so nothing begins and the
  // claim is released.
  const shut: Processor = {
    ...harness.processor,
    ready: async () => {
      asked += 1;
      if (asked > 1) throw new RetryableError('processor_circuit_open', 'no');
    },
  };
  await expect(harness.order(request, { processor: shut })).rejects.toMatchObject({ code: 'processor_circuit_open' });
  const silent: Processor = {
    ...harness.processor,
    charge: () => {
      sentAtMs.push(harness.clock.nowMs());
      return Promise.reject(new AmbiguousError('processor_timeout', 'no'));
    },
    findCharge: () => Promise.reject(new RetryableError('processor_unreachable', 'no')),
  };
  harness.clock.advance(14 * MINUTE_MS); // The client retries.
  await harness.order(request, { processor: silent });
  await harness.resolveFor(20, { processor: silent });
  expect(sentAtMs.length).toBeGreaterThan(0);
  expect(Math.max(...sentAtMs) - claimedAtMs).toBeLessThanOrEqual(15 * MINUTE_MS);
});

describe('an order whose payment is refunded by the merchant', () => {
  test('is canceled before its next step, and reserves nothing', async () => {
    const request = orderRequest('early', { source: 'tok_async' });
    await harness.order(request);
    await harness.processor.inside.approve(chargeOf(request).chargeId);
    await resolveInquiries({
      ...harness.tools,
    });
    expect(await giveBack(request)).toMatchObject({ answer: { status: 201 } });
    await harness.resolveFor(20);
    expect(await ended(request)).toEqual({ status: 'canceled', kept: 0 });
    expect(await harness.shop.reserved(request.orderId)).toBe(0);
    expect(await harness.typesOf(request)).toContain('charge.refunded');
  });

  test('is canceled while the stock service does not respond, and releases a possible reservation', async () => {
    const request = orderRequest('silent');
    const silent = {
      ...harness.shop.stock,
      reserve: async (...asked: Parameters<typeof harness.shop.stock.reserve>) => {
        await harness.shop.stock.reserve(...asked);
        throw new AmbiguousError('stock_timeout', 'no');
      },
    };
    await harness.order(request, { stock: silent });
    await giveBack(request);
    await harness.resolveFor(20);
    expect(await ended(request)).toEqual({ status: 'canceled', kept: 0 });
    expect(await harness.shop.reserved(request.orderId)).toBe(0);
    expect(harness.mailer.outbox).toEqual([]);
  });
});

describe('an order refunded or disputed while the stock service does not respond', () => {
  async function waitsForStock(key: string) {
    const request = orderRequest(key);
    const away = { ...harness.shop.stock, reserve: () => Promise.reject(new AmbiguousError('stock_timeout', 'no')) };
    await harness.order(request, { stock: away });
    const { chargeId } = chargeOf(request);
    const sendCallback = (event: string) => receive(event, chargeId);
    return { request, chargeId, sendCallback };
  }

  const receive = (eventId: string, chargeId: string) =>
    receiveCallback(
      { ...harness.tools, effects: harness.store, books: harness.processor },
      { processorName: 'sandbox', mode: 'test', eventId, type: 'charge.changed', chargeId },
    );

  async function expectNothingGiven(request: ReturnType<typeof orderRequest>): Promise<void> {
    expect(await harness.shop.reserved(request.orderId)).toBe(0);
    expect(harness.mailer.outbox).toEqual([]);
    expect(await harness.typesOf(request)).not.toContain('referral.credited');
  }

  test('delivers no goods after the full amount is disputed', async () => {
    const { request, chargeId, sendCallback } = await waitsForStock('disputed');
    await harness.processor.inside.dispute(chargeId, 2_000);
    await sendCallback('opened');
    await harness.resolveFor(20);
    await expectNothingGiven(request);
    expect((await harness.read(request)).status).toBe('canceled');
  });

  test('delivers no goods after a partial dispute, and refunds the undisputed amount, even if the merchant wins the dispute', async () => {
    const { request, chargeId, sendCallback } = await waitsForStock('partly_disputed');
    const dispute = await harness.processor.inside.dispute(chargeId, 1);
    await sendCallback('opened');
    await harness.resolveFor(20);
    await expectNothingGiven(request);
    expect(await ended(request)).toEqual({ status: 'canceled', kept: 1 });
    await harness.processor.inside.closeDispute(dispute, 'won');
    await sendCallback('closed');
    await harness.resolveFor(60);
    expect(await ended(request)).toEqual({ status: 'canceled', kept: 0 });
  });

  test('refunds the undisputed amount of a payment even if a refund by the merchant fails when the dispute is lost', async () => {
    const { request, chargeId, sendCallback } = await waitsForStock('failing');
    const refund = await harness.processor.inside.refund(chargeId, 500, 'pending');
    const dispute = await harness.processor.inside.dispute(chargeId, 100);
    await sendCallback('opened');
    await harness.resolveFor(20);
    await harness.processor.inside.endRefund(refund, 'failed');
    await harness.processor.inside.closeDispute(dispute, 'lost');
    await sendCallback('ended');
    await harness.resolveFor(60);
    expect(await ended(request)).toEqual({ status: 'canceled', kept: 100 });
    await expectNothingGiven(request);
  });

  test('delivers the goods after a partial refund, which is treated as a discount', async () => {
    const { request, chargeId, sendCallback } = await waitsForStock('discount');
    await harness.processor.inside.refund(chargeId, 1_999);
    await sendCallback('refunded');
    await harness.resolveFor(20);
    expect(await ended(request)).toEqual({ status: 'completed', kept: 1 });
  });

  test('refunds the money of a dispute that is won after the order was canceled', async () => {
    const { request, chargeId, sendCallback } = await waitsForStock('won');
    const dispute = await harness.processor.inside.dispute(chargeId, 2_000);
    await sendCallback('opened');
    await harness.resolveFor(20);
    await harness.processor.inside.closeDispute(dispute, 'won');
    await sendCallback('closed');
    await harness.resolveFor(60);
    expect(await ended(request)).toEqual({ status: 'canceled', kept: 0 });
    await expectNothingGiven(request);
  });

  test.each(['succeeded', 'failed'] as const)(
    'delivers no goods while a full refund is pending, and is canceled after the refund %s',
    async (end) => {
      const { request, chargeId, sendCallback } = await waitsForStock('pending');
      const refund = await harness.processor.inside.refund(chargeId, 2_000, 'pending');
      await sendCallback('created');
      await harness.resolveFor(20);
      await expectNothingGiven(request);
      await harness.processor.inside.endRefund(refund, end);
      await sendCallback('ended');
      await harness.resolveFor(60);
      expect(await ended(request)).toEqual({ status: 'canceled', kept: 0 });
      await expectNothingGiven(request);
    },
  );

  test('stays readable, and is canceled, if the merchant’s refund fails and is made again', async () => {
    const { request, chargeId, sendCallback } = await waitsForStock('bounced');
    const refund = await harness.processor.inside.refund(chargeId, 2_000);
    await sendCallback('refunded');
    await harness.resolveFor(20);
    await harness.processor.inside.endRefund(refund, 'failed');
    await sendCallback('failed');
    await harness.processor.inside.refund(chargeId, 2_000);
    await sendCallback('refunded_again');
    await harness.resolveFor(60);
    expect(await ended(request)).toEqual({ status: 'canceled', kept: 0 });
    const attempts = (await harness.transitions(request.orderId)).map(({ order }) => order.charge.attempt ?? 1);
    expect(Math.min(...attempts)).toBeGreaterThanOrEqual(1);
  });
});

describe('a reversal', () => {
  test('becomes a refund if the payer approves while the cancellation gets no response', async () => {
    const request = orderRequest('late', { source: 'tok_action' });
    await harness.order(request);
    const silent = () => Promise.reject(new AmbiguousError('processor_timeout', 'no'));
    harness.clock.advance(DAY_MINUTES * MINUTE_MS);
    await harness.resolveFor(60, { processor: { ...harness.processor, change: silent } }, QUIET_MINUTES);
    expect(await harness.read(request)).toMatchObject({ failure: { code: 'payment_abandoned' } });
    await harness.processor.inside.approve(chargeOf(request).chargeId);
    await harness.resolveFor(DAY_MINUTES, {}, QUIET_MINUTES);
    expect(await ended(request)).toEqual({ status: 'canceled', kept: 0 });
  });

  test('reopens the order if it fails days later, and the money is refunded under the next key', async () => {
    const request = orderRequest('undone', { items: [{ sku: 'sku_none', quantity: 1 }] });
    await harness.order(request);
    await harness.resolveFor(5);
    expect(await ended(request)).toEqual({ status: 'canceled', kept: 0 });
    const { chargeId, refunds } = chargeOf(request);
    harness.clock.advance(2 * DAY_MINUTES * MINUTE_MS);
    await harness.processor.inside.endRefund(String(refunds[0]?.refundId), 'failed');
    await deliver('evt_failed', chargeId);
    expect(await harness.store.openOrders(ALL_DUE)).toMatchObject([{ orderId: request.orderId }]);
    await harness.resolveFor(10);
    expect(await ended(request)).toEqual({ status: 'canceled', kept: 0 });
    expect(chargeOf(request).refunds).toHaveLength(2);
    expect((await harness.typesOf(request)).slice(-4)).toEqual([
      'order.reopened',
      'reversal.pending',
      'reversal.succeeded',
      'order.canceled',
    ]);
    expect(await harness.store.openOrders(ALL_DUE)).toEqual([]);
  });

  test('that fails after it had succeeded keeps the order open while the payment cannot be read', async () => {
    const request = orderRequest('unread', { items: [{ sku: 'sku_none', quantity: 1 }] });
    await harness.order(request);
    await harness.resolveFor(5);
    const { chargeId, refunds } = chargeOf(request);
    await harness.processor.inside.endRefund(String(refunds[0]?.refundId), 'failed');
    await deliver('evt_failed', chargeId);
    const throttled = () => Promise.reject(new RetryableError('store_throttled', 'no'));
    const store = { ...harness.storeMethods(), readEnds: throttled, listTransitions: throttled };
    await harness.resolveFor(1, { store });
    expect(await harness.store.openOrders(ALL_DUE)).toMatchObject([{ orderId: request.orderId }]);
    await harness.resolveFor(10);
    expect(await ended(request)).toEqual({ status: 'canceled', kept: 0 });
    expect(await harness.store.openOrders(ALL_DUE)).toEqual([]);
  });
});

describe('an order whose payment is refunded or disputed after the order was paid', () => {
  const receive = (eventId: string, request: CreateOrder) =>
    receiveCallback(
      { ...harness.tools, effects: harness.store, books: harness.processor },
      { processorName: 'sandbox', mode: 'test', eventId, type: 'charge.changed', chargeId: chargeOf(request).chargeId },
    );
  const noAnswer = () => Promise.reject(new AmbiguousError('party_timeout', 'no'));
  const silentMailer = { send: noAnswer };
  const silentReferrals = { credit: noAnswer };
  const refunded = async (request: CreateOrder) => {
    await harness.processor.inside.refund(chargeOf(request).chargeId, 2_000);
    await receive('refunded', request);
  };
  const disputed = async (request: CreateOrder) => {
    const dispute = await harness.processor.inside.dispute(chargeOf(request).chargeId, 2_000);
    await receive('disputed', request);
    return dispute;
  };

  test.each([
    ['refunded', refunded],
    ['disputed', disputed],
  ])(
    'sends neither the delayed e-mail nor the pending credit if the payment of the completed order is %s',
    async (_how, goesBack) => {
      const request = orderRequest('delayed');
      const first = await harness.order(request, { mailer: silentMailer, referrals: silentReferrals });
      expect(first).toMatchObject({ answer: { status: 201 } });
      await goesBack(request);
      await harness.resolveFor(20);
      expect(harness.mailer.outbox).toEqual([]);
      expect(await harness.shop.credits(request.orderId)).toBe(0);
      harness.clock.advance(3 * DAY_MINUTES * MINUTE_MS);
      await harness.resolveFor(60);
      expect(await harness.read(request)).toMatchObject({
        email: { status: 'unknown' },
        referral: { status: 'unknown' },
      });
      expect(await harness.store.openOrders(ALL_DUE)).toEqual([]);
    },
  );

  test('sends the delayed e-mail and the credit after the dispute is won', async () => {
    const request = orderRequest('won_late');
    await harness.order(request, { mailer: silentMailer, referrals: silentReferrals });
    const dispute = await disputed(request);
    await harness.resolveFor(5);
    await harness.processor.inside.closeDispute(dispute, 'won');
    await receive('closed', request);
    await harness.resolveFor(5);
    expect(harness.mailer.outbox).toHaveLength(1);
    expect(await harness.shop.credits(request.orderId)).toBe(1);
  });

  test.each([
    ['before the reservation', 0, { emails: 0, credits: 0 }],
    ['before the e-mail', 1, { emails: 0, credits: 0 }],
    ['before the credit', 2, { emails: 1, credits: 0 }],
    ['before the completion', 3, { emails: 1, credits: 1 }],
  ])(
    'is canceled if its payment is disputed while the request for the order runs, %s',
    async (_when, after, { emails, credits }) => {
      const request = orderRequest('in_between');
      let effects = 0;
      const counted = async <Outcome>(call: () => Promise<Outcome>): Promise<Outcome> => {
        const outcome = await call();
        effects += 1;
        if (effects === after) await disputed(request);
        return outcome;
      };
      const { stock, referrals } = harness.shop;
      const { orders } = harness.tools;
      const outcome = await harness.order(request, {
        stock: { ...stock, reserve: (...asked) => counted(() => stock.reserve(...asked)) },
        mailer: { send: (email) => counted(() => harness.mailer.send(email)) },
        referrals: { credit: (...asked) => counted(() => referrals.credit(...asked)) },
        orders: {
          claimOrder: (claim) => orders.claimOrder(claim),
          commitOrder: (commit) => orders.commitOrder(commit),
          appendToOrder: async (append) => {
            const appended = await orders.appendToOrder(append);
            const isPaid = append.transitions.some(({ type }) => type === 'reservation.pending');
            if (isPaid && after === 0) await disputed(request);
            return appended;
          },
          listOrderTransitions: (...page) => orders.listOrderTransitions(...page),
          openOrders: (due) => orders.openOrders(due),
          postponeOrder: (...next) => orders.postponeOrder(...next),
          closeOrder: (open) => orders.closeOrder(open),
        },
      });
      expect(outcome).not.toMatchObject({ answer: { status: 201 } });
      await harness.resolveFor(20);
      expect((await harness.read(request)).status).toBe('canceled');
      expect(await harness.shop.reserved(request.orderId)).toBe(0);
      expect(harness.mailer.outbox).toHaveLength(emails);
      expect(await harness.shop.credits(request.orderId)).toBe(credits);
      expect(await harness.typesOf(request)).not.toContain('order.completed');
    },
  );

  test('is canceled even if the responses to its e-mail and credit are lost, and shows neither effect as pending', async () => {
    const request = orderRequest('lost_answers');
    const lost = new AmbiguousError('injected_ambiguity', 'the response is lost');
    const { mailer, referrals } = harness.tools;
    const lastSteps = {
      mailer: {
        send: async (...asked: Parameters<typeof mailer.send>) => {
          await mailer.send(...asked);
          throw lost;
        },
      },
      referrals: {
        credit: async (...asked: Parameters<typeof referrals.credit>) => {
          await referrals.credit(...asked);
          await disputed(request);
          throw lost;
        },
      },
    };
    await harness.order(request, lastSteps);
    await harness.resolveFor(20);
    expect(await harness.read(request)).toMatchObject({
      status: 'canceled',
      email: { status: 'unknown' },
      referral: { status: 'unknown' },
    });
    expect(await harness.shop.credits(request.orderId)).toBe(1);
  });
});
