/** Tests the guarantee "settled or undone". */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { receiveCallback } from '../../lambdas/callbacks/receive-callback.ts';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { ProcessReplayCache } from '../../lambdas/once/process-records.ts';
import { firstBrokenOrderLink } from '../../lambdas/orders/domain/order-transition.ts';
import { orderOperation } from '../../lambdas/orders/ids.ts';
import { NO_REFERRALS } from '../../lambdas/orders/parties/configured-parties.ts';
import type { OrderStore } from '../../lambdas/orders/use/order-store.ts';
import { netDebitMinor } from '../../lambdas/payments/domain/posting.ts';
import { changePayment } from '../../lambdas/payments/use/change-payment.ts';
import { abilitiesWithout } from '../../lambdas/processors/sandbox/sandbox-abilities.ts';
import { callback, change, paymentRequest } from '../payments/payment-fixtures.ts';
import { BY_REQUEST } from '../support/causes.ts';
import { ALL_DUE } from '../support/due.ts';
import { inTurn, whole } from '../support/slice.ts';
import { World } from '../world/world.ts';
import { answerOf, orderRequest } from './order-fixtures.ts';

let harness: World;
beforeEach(() => {
  harness = new World();
});

/** Minutes between two runs of the jobs during days without events. When deployed, they run once a minute. */
const QUIET_MINUTES = whole(1, { slice: 15 });

const no = () => Promise.reject(new RetryableError('processor_unreachable', 'no'));

const counted = async (request: ReturnType<typeof orderRequest>) => ({
  kept: harness.keptMinor(request),
  reserved: await harness.shop.reserved(request.orderId),
  emails: harness.mailer.outbox.length,
  credits: await harness.shop.credits(request.orderId),
});

describe('an order', () => {
  test('is charged, reserved, confirmed and credited exactly once, and is replayed', async () => {
    const request = orderRequest('tea');
    const first = answerOf(await harness.order(request));
    expect(first).toMatchObject({
      status: 201,
      body: {
        id: request.orderId,
        status: 'completed',
        reservation: expect.stringMatching(/^rsv_/),
        notifications: { email: 'sent' },
        referral: 'credited',
        failure: null,
      },
    });
    const again = await harness.order(request);
    expect(again).toMatchObject({ kind: 'replay' });
    expect(answerOf(again)).toEqual(first);
    expect(await counted(request)).toEqual({ kept: 2_000, reserved: 1, emails: 1, credits: 1 });
    expect(await harness.typesOf(request)).toEqual([
      'order.placed',
      'charge.succeeded',
      'reservation.pending',
      'reservation.succeeded',
      'email.pending',
      'email.sent',
      'referral.pending',
      'referral.credited',
      'order.completed',
    ]);
    const transitions = await harness.transitions(request.orderId);
    expect(transitions.map(({ cause }) => cause)).toEqual(transitions.map(() => BY_REQUEST));
    expect(firstBrokenOrderLink(systemDigest, transitions)).toBeUndefined();
    expect(await harness.store.openOrders(ALL_DUE)).toEqual([]);
  });

  test('is replayed from the process’s cache, without choosing a processor again', async () => {
    const request = orderRequest('tea');
    const replays = new ProcessReplayCache();
    const first = answerOf(await harness.order(request, { replays }));
    const choose = (): never => {
      throw new Error('a routing rule names an unknown processor');
    };
    const again = await harness.order(request, { replays, choose });
    expect(again).toMatchObject({ kind: 'replay', source: 'cache' });
    expect(answerOf(again)).toEqual(first);
  });

  test('creates no credit without a referrer, or if the credit rounds down to zero', async () => {
    const { referrer: _referrer, ...alone } = orderRequest('alone');
    expect(answerOf(await harness.order(alone)).body).toMatchObject({ referral: 'none', referrer: null });
    const small = answerOf(await harness.order(orderRequest('small', { amountMinor: 19 })));
    expect([small.status, small.body['referral']]).toEqual([201, 'none']);
  });

  test('is canceled without further calls if its charge is declined', async () => {
    const request = orderRequest('poor', { source: 'tok_declined' });
    expect(answerOf(await harness.order(request))).toMatchObject({
      status: 402,
      body: { code: 'payment_failed', request_id: 'req-order', order: { status: 'canceled', reservation: null } },
    });
    expect(await counted(request)).toEqual({ kept: 0, reserved: 0, emails: 0, credits: 0 });
    expect(await harness.typesOf(request)).toEqual(['order.placed', 'charge.failed', 'order.canceled']);
  });

  test('is refunded in full if its goods are out of stock, and the ledger nets to zero', async () => {
    const request = orderRequest('gone', { items: [{ sku: 'sku_none', quantity: 1 }] });
    expect(answerOf(await harness.order(request))).toMatchObject({
      status: 409,
      body: { code: 'out_of_stock', order: { status: 'canceled', failure: { code: 'out_of_stock' } } },
    });
    expect(await counted(request)).toEqual({ kept: 0, reserved: 0, emails: 0, credits: 0 });
    const { transitions, state } = await harness.payment(request);
    const postings = transitions.flatMap((transition) => transition.postings);
    expect(netDebitMinor('processor_clearing', 'EUR', postings)).toBe(0);
    expect(state.payment).toMatchObject({ status: 'succeeded', amountRefundedMinor: 2_000 });
    expect(await harness.typesOf(request)).toEqual([
      'order.placed',
      'charge.succeeded',
      'reservation.pending',
      'reservation.refused',
      'reversal.pending',
      'reversal.succeeded',
      'order.canceled',
    ]);
  });

  test('is refused as a payload mismatch under the key of an order with a different body', async () => {
    await harness.order(orderRequest('one'));
    expect(await harness.order(orderRequest('one', { amountMinor: 3 }))).toEqual({ kind: 'payload_mismatch' });
  });

  test('does not begin while the circuit breaker of its processor is open, and leaves its key unused', async () => {
    await harness.processor.inside.goDown();
    const request = orderRequest('early');
    await expect(harness.order(request)).rejects.toMatchObject({ code: 'processor_circuit_open' });
    expect(await harness.typesOf(request)).toEqual([]);
    await harness.processor.inside.recover();
    expect(answerOf(await harness.order(request)).status).toBe(201);
  });

  test('releases its claim if the processor’s rate limit is reached, and a retry with the same key continues immediately', async () => {
    const request = orderRequest('limited', { source: 'tok_rate_limited' });
    await expect(harness.order(request)).rejects.toMatchObject({ code: 'processor_rate_limited' });
    expect(answerOf(await harness.order(request)).status).toBe(201);
    expect(harness.charges(request)).toBe(1);
  });

  test('gets 202 if the claim of its payment cannot be released, because another owner may have sent the charge', async () => {
    const refuse = () => Promise.reject(new RetryableError('processor_unauthorized', '401'));
    const store = { ...harness.storeMethods(), release: refuse };
    const request = orderRequest('held');
    const outcome = await harness.order(request, { processor: { ...harness.processor, charge: refuse }, store });
    expect(answerOf(outcome).status).toBe(202);
  });

  test('is canceled without a payment only after the time in which an owner could still begin a payment', async () => {
    const request = orderRequest('none');
    const unread = {
      ...harness.storeMethods(),
      claim: () => Promise.reject(new AmbiguousError('store_ambiguous', '')),
    };
    expect(answerOf(await harness.order(request, { store: unread })).status).toBe(202);
    harness.clock.advance(44 * 60_000);
    await harness.resolve();
    expect(await harness.read(request)).toMatchObject({ status: 'processing', charge: { status: 'pending' } });
    await harness.resolveFor(2);
    expect(await harness.read(request)).toMatchObject({ status: 'canceled', failure: { code: 'not_attempted' } });
  });

  test('is never charged if it is not retried within the send window', async () => {
    const request = orderRequest('left', { source: 'tok_unauthorized' });
    await expect(harness.order(request)).rejects.toMatchObject({ code: 'processor_unauthorized' });
    await harness.resolveFor(20);
    expect(answerOf(await harness.order(request))).toMatchObject({
      status: 409,
      body: { code: 'order_not_attempted' },
    });
    expect(await harness.read(request)).toMatchObject({ status: 'canceled', failure: { code: 'not_attempted' } });
    expect(harness.charges(request)).toBe(0);
  });
});

describe('an order with an unknown outcome', () => {
  test('gets 202, and is completed as soon as the outcome of its charge is known', async () => {
    const request = orderRequest('later', { source: 'tok_async' });
    expect(answerOf(await harness.order(request))).toMatchObject({ status: 202, body: { status: 'processing' } });
    await harness.resolve();
    expect((await harness.read(request)).status).toBe('processing');
    const { state } = await harness.payment(request);
    await harness.processor.inside.approve(state.payment.chargeId ?? '');
    await harness.resolveFor(2);
    expect(await harness.read(request)).toMatchObject({ status: 'completed', email: { status: 'sent' } });
    expect(await counted(request)).toEqual({ kept: 2_000, reserved: 1, emails: 1, credits: 1 });
    expect(await harness.store.openOrders(ALL_DUE)).toEqual([]);
    expect(answerOf(await harness.order(request)).status).toBe(202);
  });

  test('is canceled together with its payment if the payer does not act within a day', async () => {
    const request = orderRequest('asleep', { source: 'tok_action' });
    expect(answerOf(await harness.order(request)).status).toBe(202);
    await harness.resolveFor(26 * 60, {}, QUIET_MINUTES);
    expect(await harness.read(request)).toMatchObject({ status: 'canceled', failure: { code: 'payment_abandoned' } });
    expect((await harness.payment(request)).state.payment.status).toBe('canceled');
    expect(await harness.shop.reservations(request.orderId)).toBe(0);
  });

  test('waits for the bank if its payer approved within a day', async () => {
    const request = orderRequest('at-bank', { source: 'tok_action' });
    await harness.order(request);
    const { chargeId = '' } = (await harness.payment(request)).state.payment;
    await harness.processor.inside.correct(chargeId, { status: 'pending', action_url: null });
    await harness.resolveFor(26 * 60, {}, QUIET_MINUTES);
    expect(await harness.read(request)).toMatchObject({ status: 'processing', charge: { status: 'pending' } });
    await harness.processor.inside.approve(chargeId);
    await harness.resolveFor(2 * 60, {}, QUIET_MINUTES);
    expect((await harness.read(request)).status).toBe('completed');
    expect(await counted(request)).toEqual({ kept: 2_000, reserved: 1, emails: 1, credits: 1 });
  });

  test('is canceled if its payer approved within a day and the bank refuses later', async () => {
    const request = orderRequest('refused', { source: 'tok_action' });
    await harness.order(request);
    const { chargeId = '' } = (await harness.payment(request)).state.payment;
    await harness.processor.inside.correct(chargeId, { status: 'pending', action_url: null });
    await harness.resolveFor(25 * 60, {}, QUIET_MINUTES);
    await harness.processor.inside.decline(chargeId);
    await harness.resolveFor(2 * 60, {}, QUIET_MINUTES);
    expect(await harness.read(request)).toMatchObject({ status: 'canceled', charge: { status: 'failed' } });
    expect(await counted(request)).toEqual({ kept: 0, reserved: 0, emails: 0, credits: 0 });
  });

  test.each([
    ['no callback reports it', {}],
    ['the processor’s books cannot be read until then', { showCharge: no }],
  ])('is completed after more than a day if its payer approved and %s', async (_why, changes) => {
    const request = orderRequest('unread', { source: 'tok_action' });
    await harness.order(request);
    const { chargeId = '' } = (await harness.payment(request)).state.payment;
    const away = { ...harness.processor, readCharge: no, ...changes };
    await harness.resolveFor(23 * 60, { processor: away, books: [away] }, QUIET_MINUTES);
    await harness.processor.inside.approve(chargeId);
    await harness.resolveFor(3 * 60, { processor: away, books: [away] }, QUIET_MINUTES);
    expect((await harness.read(request)).failure).toBeUndefined();
    await harness.resolveFor(2 * 60, {}, QUIET_MINUTES);
    expect((await harness.read(request)).status).toBe('completed');
    expect(await counted(request)).toEqual({ kept: 2_000, reserved: 1, emails: 1, credits: 1 });
  });

  test('waits for a stock service that does not respond, and reserves once after the service recovers', async () => {
    const request = orderRequest('quiet', { items: [{ sku: 'sku_timeout', quantity: 1 }] });
    expect(answerOf(await harness.order(request))).toMatchObject({ status: 202, body: { status: 'processing' } });
    expect((await harness.read(request)).reservation.status).toBe('pending');
    await harness.resolveFor(1);
    expect((await harness.read(request)).status).toBe('completed');
    expect(await harness.shop.reservations(request.orderId)).toBe(1);
  });

  test('is refunded if the stock service does not respond for an hour, and a possible reservation is released', async () => {
    const request = orderRequest('dead');
    const { stock } = harness.shop;
    const silent = {
      ...stock,
      reserve: async (...call: Parameters<typeof stock.reserve>) => {
        await stock.reserve(...call);
        throw new AmbiguousError('shop_timeout', 'No response in time.');
      },
    };
    await harness.order(request, { stock: silent });
    await harness.resolveFor(76, { stock: silent });
    expect(await harness.read(request)).toMatchObject({ status: 'processing', failure: { code: 'stock_unavailable' } });
    expect(harness.keptMinor(request)).toBe(0);
    await harness.resolveFor(15);
    expect(await harness.read(request)).toMatchObject({ status: 'canceled', reservation: { status: 'released' } });
    expect(await counted(request)).toEqual({ kept: 0, reserved: 0, emails: 0, credits: 0 });
  });
});

describe('the e-mail and the credit of a fulfilled order:', () => {
  test('an e-mail that fails at first is sent later, exactly once', async () => {
    const request = orderRequest('mail');
    harness.mailer.trouble = 'down';
    const { status, body } = answerOf(await harness.order(request));
    expect([status, body]).toMatchObject([201, { status: 'completed', notifications: { email: 'delayed' } }]);
    await harness.resolveFor(5);
    harness.mailer.trouble = 'sends_in_silence';
    await harness.resolveFor(1);
    harness.mailer.trouble = undefined;
    await harness.resolveFor(1);
    expect(await counted(request)).toEqual({ kept: 2_000, reserved: 1, emails: 1, credits: 1 });
    expect((await harness.read(request)).email.status).toBe('sent');
    expect(await harness.store.openOrders(ALL_DUE)).toEqual([]);
  });

  inTurn(test, { place: 1, of: 3, otherwise: test.skip })(
    'an e-mail and a credit that fail for three days are retried with growing delays, then abandoned as unknown',
    async () => {
      const request = orderRequest('hopeless', { referrer: 'ref_down' });
      harness.mailer.trouble = 'down';
      expect(answerOf(await harness.order(request)).body).toMatchObject({ status: 'completed', referral: 'pending' });
      await harness.resolveFor(61);
      await harness.resolveFor(3 * 24 * 60, {}, QUIET_MINUTES);
      expect(await harness.read(request)).toMatchObject({
        status: 'completed',
        email: { status: 'unknown' },
        referral: { status: 'unknown' },
      });
      // One initial call, 60 calls in the first hour, 4 in each of the next 23 hours, and one in each of the last 49
      // hours.
      expect(harness.mailer.calls).toBeLessThanOrEqual(1 + 60 + 23 * 4 + 49);
      expect(harness.mailer.calls).toBeGreaterThan(150);
      expect(harness.keptMinor(request)).toBe(2_000);
      expect(await harness.store.openOrders(ALL_DUE)).toEqual([]);
    },
  );

  test.each([
    ['refuses', 'failed'],
    ['caps', 'capped'],
    ['doubts', 'unknown'],
  ] as const)(
    'an e-mail with a final result (mailer in the mode “%s”) is not sent again, and the order shows the result',
    async (trouble, shown) => {
      harness.mailer.trouble = trouble;
      const request = orderRequest('final');
      expect(answerOf(await harness.order(request)).body).toMatchObject({ notifications: { email: shown } });
      await harness.resolveFor(3);
      expect(harness.mailer.calls).toBe(1);
    },
  );

  test('a referrer at a shop without a referral program is not credited, and the order shows the reason', async () => {
    const request = orderRequest('none');
    expect(answerOf(await harness.order(request, { referrals: NO_REFERRALS }))).toMatchObject({
      status: 201,
      body: { referral: 'no_referral_program' },
    });
    expect(await harness.store.openOrders(ALL_DUE)).toEqual([]);
  });

  test('an unknown referrer is not credited, and the order stays fulfilled', async () => {
    const request = orderRequest('unknown-referrer', { referrer: 'ref_nobody' });
    expect(answerOf(await harness.order(request))).toMatchObject({ status: 201, body: { referral: 'failed' } });
    expect(harness.keptMinor(request)).toBe(2_000);
  });
});

describe('a reversal', () => {
  const gone = orderRequest('gone', { items: [{ sku: 'sku_none', quantity: 1 }] });

  test('is retried under a new key after each refusal, with growing delays', async () => {
    await harness.processor.inside.failNextChange(2, 'tok_declined');
    expect(answerOf(await harness.order(gone)).status).toBe(202);
    await harness.resolveFor(10);
    expect(await harness.read(gone)).toMatchObject({ status: 'canceled', charge: { status: 'reversed', attempt: 3 } });
    expect(harness.keptMinor(gone)).toBe(0);
  });

  test('raises the alarm when it needs an operator, even if the job run crashes right after the write', async () => {
    await harness.processor.inside.failNextChange(5, 'tok_declined');
    await harness.order(gone);
    const { store } = harness;
    const { promise: written, resolve: hasWritten } = Promise.withResolvers<void>();
    const orders: typeof harness.tools.orders = {
      claimOrder: (claim) => store.claimOrder(claim),
      commitOrder: (commit) => store.commitOrder(commit),
      appendToOrder: async (append) => {
        const outcome = await store.appendToOrder(append);
        const isReview = append.transitions.some(({ type }) => type === 'order.review_required');
        return isReview ? new Promise(() => hasWritten()) : outcome;
      },
      listOrderTransitions: (id, page) => store.listOrderTransitions(id, page),
      openOrders: (due) => store.openOrders(due),
      postponeOrder: (...next) => store.postponeOrder(...next),
      closeOrder: (open) => store.closeOrder(open),
    };
    void harness.resolveFor(60, { orders });
    await written;
    expect(harness.counted.get('order_needs_review')).toBe(1);
  });

  test('waits for an operator after five refusals, and the operator’s refund takes effect', async () => {
    await harness.processor.inside.failNextChange(5, 'tok_declined');
    await harness.order(gone);
    await harness.resolveFor(60);
    expect(await harness.read(gone)).toMatchObject({ status: 'needs_review', charge: { status: 'reversal_failed' } });
    expect(harness.keptMinor(gone)).toBe(2_000);
    expect(harness.counted.get('order_needs_review')).toBeGreaterThan(0);
    const { id: paymentId } = (await harness.payment(gone)).state.payment;
    await changePayment(harness.tools, change(paymentRequest('any', { paymentId }), 'by-hand', { kind: 'refund' }));
    await harness.resolveFor(16);
    expect(await harness.read(gone)).toMatchObject({ status: 'canceled', charge: { status: 'reversed' } });
    expect(await harness.store.openOrders(ALL_DUE)).toEqual([]);
  });

  test('waits for an operator if the processor does not support refunds, and sends no refund', async () => {
    harness = new World({ abilities: abilitiesWithout('refunds') });
    await harness.order(gone);
    await harness.resolveFor(60);
    expect(await harness.read(gone)).toMatchObject({ status: 'needs_review', charge: { status: 'reversal_failed' } });
    expect(harness.counted.get('order_needs_review')).toBeGreaterThan(0);
    expect(harness.processor.inside.sent.map(({ kind }) => kind)).toEqual(['charge']);
  });

  test('stays pending while its refund is pending at the processor', async () => {
    await harness.processor.inside.failNextChange(1, 'tok_async');
    expect(answerOf(await harness.order(gone)).status).toBe(202);
    await harness.resolveFor(3);
    expect(await harness.read(gone)).toMatchObject({
      status: 'processing',
      charge: { status: 'reversing', attempt: 1 },
    });
  });
});

describe('late effects and lost records:', () => {
  test('a late charge for a canceled order is refunded and has no other effect', async () => {
    const request = orderRequest('ghost');
    // Delays every charge request: Payonce sends fewer than 100 within the send window.
    harness.processor.inside.delayNext(100);
    expect(answerOf(await harness.order(request)).status).toBe(202);
    await harness.resolveFor(46);
    expect(await harness.read(request)).toMatchObject({ status: 'canceled', failure: { code: 'not_attempted' } });
    harness.processor.inside.delayNext(0);
    await harness.processor.inside.deliverDelayed();
    const charge = harness.processor.inside.all.find(({ status }) => status === 'succeeded');
    const tools = { ...harness.tools, effects: harness.store, books: harness.processor };
    await receiveCallback(tools, callback('evt_late', charge?.chargeId ?? ''));
    await harness.resolveFor(2);
    expect(await counted(request)).toEqual({ kept: 0, reserved: 0, emails: 0, credits: 0 });
    const { transitions } = await harness.payment(request);
    const postings = transitions.flatMap((transition) => transition.postings);
    expect(netDebitMinor('processor_clearing', 'EUR', postings)).toBe(0);
    expect((await harness.read(request)).status).toBe('canceled');
  });

  test('an order whose reservation is in doubt is canceled and refunded, but not reported as out of stock', async () => {
    const request = orderRequest('doubtful');
    const { stock } = harness.shop;
    const doubtful = async () => ({
      kind: 'refused' as const,
      failure: { code: 'stock_in_doubt', message: 'No response.' },
    });
    expect(answerOf(await harness.order(request, { stock: { ...stock, reserve: doubtful } }))).toMatchObject({
      status: 409,
      body: { code: 'order_canceled', detail: 'No response. The charge was reversed.' },
    });
    expect(await counted(request)).toEqual({ kept: 0, reserved: 0, emails: 0, credits: 0 });
  });

  /**
   * Delays a process right before its reservation until the lease of the process has expired and another process has
   * canceled the order.
   */
  test('a late reservation for a canceled order is released', async () => {
    const request = orderRequest('restocked');
    const { stock } = harness.shop;
    const refuse = async () => ({ kind: 'refused' as const, failure: { code: 'out_of_stock', message: 'None left.' } });
    const heldUp: typeof stock.reserve = async (...call) => {
      harness.clock.advance(26_000);
      const rival = await harness.order(request, { stock: { ...stock, reserve: refuse } });
      expect(answerOf(rival).status).toBe(409);
      return stock.reserve(...call);
    };
    expect(answerOf(await harness.order(request, { stock: { ...stock, reserve: heldUp } })).status).toBe(409);
    expect(await harness.shop.reservations(request.orderId)).toBe(1);
    await harness.resolveFor(1);
    expect(await counted(request)).toEqual({ kept: 0, reserved: 0, emails: 0, credits: 0 });
    expect((await harness.read(request)).status).toBe('canceled');
    expect(await harness.store.openOrders(ALL_DUE)).toEqual([]);
  });

  test('an order whose record was lost is taken over if it has no response; otherwise, its key is refused', async () => {
    const request = orderRequest('lost');
    const { store } = harness;
    const dying: OrderStore = {
      claimOrder: (claim) => store.claimOrder(claim),
      commitOrder: () => Promise.reject(new Error('the process died')),
      appendToOrder: (append) => store.appendToOrder(append),
      listOrderTransitions: (orderId, page) => store.listOrderTransitions(orderId, page),
      openOrders: (due) => store.openOrders(due),
      postponeOrder: (...next) => store.postponeOrder(...next),
      closeOrder: (open) => store.closeOrder(open),
    };
    await expect(harness.order(request, { orders: dying })).rejects.toThrow('the process died');
    harness.store.deleteRecord(orderOperation(request.orderId));
    for (const changed of [
      { amountMinor: 3 },
      { currency: 'USD' },
      { source: 'tok_other' },
      { items: [{ sku: 'sku_tea', quantity: 3 }] },
      { email: 'eve@example.com' },
      { referrer: 'ref_other' },
      { returnUrl: 'https://shop.example/other' },
      { shopOrder: 118 },
    ])
      expect(await harness.order({ ...request, ...changed })).toEqual({ kind: 'payload_mismatch' });
    expect(answerOf(await harness.order(request)).status).toBe(201);
    harness.store.deleteRecord(orderOperation(request.orderId));
    expect(await harness.order(request)).toEqual({ kind: 'order_key_expired', orderId: request.orderId });
    expect(await counted(request)).toEqual({ kept: 2_000, reserved: 1, emails: 1, credits: 1 });
  });
});
