/** Tests the guarantee "goods for money". */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import { fingerprintOf } from '../../lambdas/kernel/fingerprint.ts';
import { storedOperationId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { decidePayment } from '../../lambdas/operators/use/decide-payment.ts';
import { paymentOfOrder } from '../../lambdas/orders/ids.ts';
import type { CreateOrder } from '../../lambdas/orders/use/create-order.ts';
import type { Processor, ProcessorBooks } from '../../lambdas/payments/use/processor.ts';
import { callback } from '../payments/payment-fixtures.ts';
import { BY_OPERATOR, OPERATOR } from '../support/causes.ts';
import { ALL_DUE } from '../support/due.ts';
import { World } from '../world/world.ts';
import { orderRequest } from './order-fixtures.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

let harness: World;
beforeEach(() => {
  harness = new World();
});

const paymentOf = ({ orderId }: CreateOrder) => ({ paymentId: paymentOfOrder(systemDigest, orderId) });

/** The processor charged a different amount than requested, so the payment waits for an operator. */
async function inReview(key: string) {
  const request = orderRequest(key, { source: 'tok_async' });
  await harness.order(request);
  const chargeId = harness.chargeOf(paymentOf(request));
  await harness.processor.inside.correct(chargeId, { status: 'succeeded', amount_captured: 1_999 });
  await harness.deliver(callback(`${key}_1`, chargeId));
  await harness.resolveFor(2);
  expect((await harness.read(request)).status).toBe('needs_review');
  return { request, chargeId };
}

/** No callback reports the correction. */
const correctAmount = (chargeId: string) => harness.processor.inside.correct(chargeId, { amount_captured: 2_000 });

/** With `override`, the processor's books cannot be read. */
async function decide(request: CreateOrder, takenMinor: number | 'failed', override?: true): Promise<void> {
  const asked = takenMinor === 'failed' ? { outcome: takenMinor } : { outcome: 'succeeded' as const, takenMinor };
  const outcome = await decidePayment(
    { ...harness.tools, ...(override ? away() : {}) },
    {
      cause: BY_OPERATOR,
      operationId: storedOperationId('dec_order'),
      fingerprint: fingerprintOf(systemDigest, { body: {}, query: {} }),
      payment: paymentOf(request).paymentId,
      reason: 'Seen on the statement',
      by: OPERATOR,
      asked: { kind: 'decision', ...asked, ...(override ? { override } : {}) },
    },
  );
  expect(outcome.kind).toBe('first');
}

const ended = async (request: CreateOrder) => ({
  status: (await harness.read(request)).status,
  kept: harness.keptMinor(request),
});

async function given(request: CreateOrder) {
  const { orderId } = request;
  const goods = await harness.shop.reserved(orderId);
  return { goods, emails: harness.mailer.outbox.length, credits: await harness.shop.credits(orderId) };
}

const NOTHING = { goods: 0, emails: 0, credits: 0 };
const ALL = { goods: 1, emails: 1, credits: 1 };

function away(): { readonly processor: Processor; readonly books: readonly ProcessorBooks[] } {
  const refuse = () => Promise.reject(new RetryableError('processor_unreachable', 'no'));
  const { processor } = harness;
  return {
    processor: { ...processor, showCharge: refuse, change: refuse },
    books: [{ ...processor, readCharge: refuse, chargesOfPayment: refuse }],
  };
}

describe('an order whose payment was decided by an operator', () => {
  test('is delivered only after the processor’s books can be read and contain the money of the payment', async () => {
    const { request, chargeId } = await inReview('paid');
    await correctAmount(chargeId);
    await decide(request, 2_000);
    await harness.resolveFor(2, away());
    expect(await given(request)).toEqual(NOTHING);
    await harness.resolveFor(2);
    expect(await ended(request)).toEqual({ status: 'completed', kept: 2_000 });
    expect(await given(request)).toEqual(ALL);
  });

  test.each([
    ['disputed', (chargeId: string) => harness.processor.inside.dispute(chargeId, 2_000)],
    ['refunded', (chargeId: string) => harness.processor.inside.refund(chargeId, 2_000)],
  ])('is not delivered while the processor is unavailable if its money was previously %s', async (_how, goesBack) => {
    const { request, chargeId } = await inReview('gone');
    await correctAmount(chargeId);
    await goesBack(chargeId);
    await harness.deliver(callback('gone_2', chargeId));
    await decide(request, 2_000);
    await harness.resolveFor(2 * 60, away());
    expect(await given(request)).toEqual(NOTHING);
    await harness.resolveFor(20);
    expect((await harness.read(request)).status).toBe('canceled');
    expect(await given(request)).toEqual(NOTHING);
  });

  test('is not delivered while the processor’s books contradict the decision of the operator', async () => {
    const { request } = await inReview('mistaken');
    await decide(request, 2_000, true);
    await harness.resolveFor(5);
    expect(await given(request)).toEqual(NOTHING);
  });

  test('is reversed if the operator decided that less than the amount of the order was paid', async () => {
    const { request } = await inReview('less');
    await decide(request, 1_999);
    await harness.resolveFor(5);
    expect(await ended(request)).toEqual({ status: 'canceled', kept: 0 });
    expect(await given(request)).toEqual(NOTHING);
  });
});

describe('an order in review', () => {
  test('continues when its payment is decided, even after the regular checks have ended', async () => {
    const { request, chargeId } = await inReview('late');
    await correctAmount(chargeId);
    await resolveDaily(32);
    expect(await harness.store.openOrders(ALL_DUE)).toEqual([]);
    await decide(request, 2_000);
    await harness.resolveFor(3, away());
    await harness.resolveFor(3);
    expect(await ended(request)).toEqual({ status: 'completed', kept: 2_000 });
  });

  test('stays queued after a decision until the processor’s books are readable', async () => {
    const { request, chargeId } = await inReview('away');
    await correctAmount(chargeId);
    await decide(request, 2_000);
    await resolveDaily(32, away());
    expect(await harness.store.openOrders(ALL_DUE)).toMatchObject([{ orderId: request.orderId }]);
    await resolveDaily(1);
    expect(await ended(request)).toEqual({ status: 'completed', kept: 2_000 });
    expect(await harness.store.openOrders(ALL_DUE)).toEqual([]);
  });

  test('is canceled if the processor no longer returns its charge and an operator decides that the payment failed', async () => {
    const request = orderRequest('gone', { source: 'tok_action' });
    await harness.order(request);
    const readCharge = async () => undefined;
    const findCharge = async () => ({ kind: 'absent' as const });
    const processor = { ...harness.processor, readCharge, findCharge };
    await resolveDaily(1, { processor, books: [processor] });
    expect((await harness.read(request)).status).toBe('needs_review');
    await decide(request, 'failed');
    await resolveDaily(1);
    expect(await ended(request)).toEqual({ status: 'canceled', kept: 0 });
  });

  test('is canceled when its payer is refunded in the processor’s dashboard, even after 40 days', async () => {
    const request = orderRequest('by-hand', { items: [{ sku: 'sku_none', quantity: 1 }] });
    await harness.processor.inside.failNextChange(5, 'tok_declined');
    await harness.order(request);
    await resolveDaily(40);
    expect(await ended(request)).toEqual({ status: 'needs_review', kept: 2_000 });
    const chargeId = harness.chargeOf(paymentOf(request));
    await harness.processor.inside.refund(chargeId, 2_000);
    await harness.deliver(callback('by-hand_1', chargeId));
    await resolveDaily(1);
    expect(await ended(request)).toEqual({ status: 'canceled', kept: 0 });
    expect(await harness.store.openOrders(ALL_DUE)).toEqual([]);
  });

  test('is refunded if its payer approves after a refused cancellation, even after 40 days', async () => {
    const request = orderRequest('asleep', { source: 'tok_action' });
    await harness.processor.inside.failNextChange(5, 'tok_declined');
    await harness.order(request);
    await resolveDaily(40);
    expect(await harness.read(request)).toMatchObject({ status: 'needs_review', charge: { by: 'cancel', attempt: 5 } });
    const chargeId = harness.chargeOf(paymentOf(request));
    await harness.processor.inside.approve(chargeId);
    await harness.deliver(callback('asleep_1', chargeId));
    await resolveDaily(2);
    expect(await ended(request)).toEqual({ status: 'canceled', kept: 0 });
    expect(await harness.store.openOrders(ALL_DUE)).toEqual([]);
  });

  test('is canceled when its goods can be released, even after 40 days', async () => {
    const request = orderRequest('away');
    const silent = () => Promise.reject(new AmbiguousError('shop_timeout', 'no'));
    const { stock } = harness.shop;
    const losing = { reserve: (...call: Parameters<typeof stock.reserve>) => stock.reserve(...call).then(silent) };
    await harness.order(request, { stock: { ...losing, release: silent } });
    await resolveDaily(40, { stock: { ...losing, release: silent } });
    expect(await ended(request)).toEqual({ status: 'needs_review', kept: 0 });
    await resolveDaily(1);
    expect(await ended(request)).toEqual({ status: 'canceled', kept: 0 });
    expect(await given(request)).toEqual(NOTHING);
  });

  test('is checked for thirty days after its reopening', async () => {
    const { request } = await inReview('again');
    await resolveDaily(32);
    const { store, clock } = harness;
    const opened = { orderId: request.orderId, createdAtMs: clock.nowMs(), sequence: clock.nowMs() };
    let closed = 0;
    const orders = {
      claimOrder: store.claimOrder.bind(store),
      commitOrder: store.commitOrder.bind(store),
      appendToOrder: store.appendToOrder.bind(store),
      listOrderTransitions: store.listOrderTransitions.bind(store),
      openOrders: async () => [opened],
      postponeOrder: async () => {},
      closeOrder: async () => {
        closed += 1;
      },
    };
    await resolveDaily(29, { orders });
    expect(closed).toBe(0);
    await resolveDaily(2, { orders });
    expect(closed).toBeGreaterThan(0);
  });

  test('is checked for thirty days from the start of its review, regardless of its age', async () => {
    const request = orderRequest('old', { source: 'tok_async' });
    await harness.order(request);
    const chargeId = harness.chargeOf(paymentOf(request));
    await resolveDaily(40);
    await harness.processor.inside.correct(chargeId, { status: 'succeeded', amount_captured: 1_999 });
    await harness.deliver(callback('old_1', chargeId));
    await resolveDaily(29);
    expect((await harness.read(request)).status).toBe('needs_review');
    expect(await harness.store.openOrders(ALL_DUE)).toMatchObject([{ orderId: request.orderId }]);
    await resolveDaily(3);
    expect(await harness.store.openOrders(ALL_DUE)).toEqual([]);
  });
});

/** On the hour, every open order is due. */
async function resolveDaily(days: number, changes?: Parameters<World['resolve']>[0]): Promise<void> {
  harness.clock.advance(HOUR_MS - (harness.clock.nowMs() % HOUR_MS));
  for (let day = 0; day < days; day += 1) {
    harness.clock.advance(DAY_MS);
    await harness.resolve(changes);
  }
}
