import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { callSandbox } from './sandbox-calls.ts';
import { chargeIn, errorIn, sandboxHarness } from './sandbox-harness.ts';
import { type Receiver, serveReceiver } from './sandbox-receiver.ts';
import { createTestSandbox, type TestSandbox } from './sandbox-world.ts';

const SECOND_MS = 1_000;

describe('for sources with delayed changes, special callbacks or fees,', () => {
  let receiver: Receiver;
  let sandbox: TestSandbox;
  let harness: ReturnType<typeof sandboxHarness>;

  beforeEach(async () => {
    receiver = await serveReceiver();
    sandbox = createTestSandbox();
    sandbox.address = receiver.url;
    harness = sandboxHarness(sandbox.handler);
  });
  afterEach(async () => {
    await receiver[Symbol.asyncDispose]();
  });

  const made = async (source: string, changes: Readonly<Record<string, unknown>> = {}) => {
    const answer = await harness.charge(source, changes);
    expect(answer.status).toBe(201);
    return chargeIn(answer);
  };
  const arrived = () => receiver.arrivals.map(({ event }) => event.type);
  /** A queue may redeliver tasks. */
  const redeliverAll = async () => {
    await sandbox.batch(...sandbox.queued.map(({ body }) => body));
    await sandbox.runFor(60 * SECOND_MS);
  };

  test('tok_async is pending, and charged once after 2 seconds', async () => {
    const charge = await made('tok_async');
    expect(charge).toMatchObject({ status: 'pending', amount_captured: 0, failure: null });
    await sandbox.runFor(2 * SECOND_MS - 1);
    expect((await harness.read(charge.id)).status).toBe('pending');
    expect(arrived()).toEqual(['charge.pending']);
    await sandbox.runFor(1);
    expect(await harness.read(charge.id)).toEqual({ ...charge, status: 'succeeded', amount_captured: 1_999 });
    await redeliverAll();
    expect(arrived()).toEqual(['charge.pending', 'charge.succeeded']);
    expect(await harness.types(charge.id)).toEqual(['charge.pending', 'charge.succeeded']);
  });

  test('tok_async with manual capture is pending, then authorized', async () => {
    const { id } = await made('tok_async', { capture: 'manual' });
    await sandbox.runFor(2 * SECOND_MS);
    expect(await harness.read(id)).toMatchObject({ status: 'authorized', amount_captured: 0 });
    expect(arrived()).toEqual(['charge.pending', 'charge.authorized']);
  });

  test('tok_async_declined is pending, and declined after 2 seconds', async () => {
    const { id } = await made('tok_async_declined');
    await sandbox.runFor(2 * SECOND_MS);
    expect(await harness.read(id)).toMatchObject({ status: 'declined', failure: { code: 'card_declined' } });
    expect(arrived()).toEqual(['charge.pending', 'charge.declined']);
  });

  test('tok_async_short is pending, and half of it is charged after 2 seconds', async () => {
    const { id } = await made('tok_async_short');
    await sandbox.runFor(2 * SECOND_MS);
    const { amount, amount_captured: captured, status } = await harness.read(id);
    expect([status, captured]).toEqual(['succeeded', Math.ceil(amount / 2)]);
    expect(arrived()).toEqual(['charge.pending', 'charge.succeeded']);
  });

  test('a replay with the same key returns the current state of the charge', async () => {
    const answer = await harness.charge('tok_async', {}, 'k1');
    await sandbox.runFor(2 * SECOND_MS);
    const again = await harness.charge('tok_async', {}, 'k1');
    expect(again.status).toBe(201);
    expect(chargeIn(again)).toEqual({ ...chargeIn(answer), status: 'succeeded', amount_captured: 1_999 });
  });

  test('a pending charge cannot be captured, voided, refunded or disputed', async () => {
    const { id } = await made('tok_async', { capture: 'manual' });
    for (const path of [
      `charges/${id}/capture`,
      `charges/${id}/void`,
      `charges/${id}/refunds`,
      `control/charges/${id}/dispute`,
    ]) {
      expect((await harness.post(`/${path}`)).status).toBe(400);
    }
    expect(await harness.types(id)).toEqual(['charge.pending']);
  });

  test('tok_callback_twice delivers its event twice concurrently, with one id', async () => {
    const bothHere = Promise.withResolvers<void>();
    receiver.onArrival = async () => {
      if (receiver.arrivals.length === 2) bothHere.resolve();
      await bothHere.promise;
    };
    const { id } = await made('tok_callback_twice');
    await sandbox.runDue();
    expect(arrived()).toEqual(['charge.succeeded', 'charge.succeeded']);
    expect(new Set(receiver.arrivals.map(({ rawBody }) => rawBody)).size).toBe(1);
    expect(await harness.events(id)).toMatchObject([{ attempts: 2, delivered: true }]);
  });

  test('tok_callback_twice is recorded as delivered if one of two copies is accepted; otherwise both copies are resent', async () => {
    receiver.statuses.push(500, 500, 200, 500);
    const { id } = await made('tok_callback_twice');
    await sandbox.runFor(60 * SECOND_MS);
    expect(await harness.events(id)).toMatchObject([{ attempts: 4, delivered: true }]);
  });

  test('tok_callback_first delivers its event, and responds to the charge request only after the receiver has responded', async () => {
    const order: string[] = [];
    let readBefore: string | undefined;
    receiver.onArrival = async ({ event }) => {
      readBefore = (await harness.read(String(event.data['charge']))).status;
      order.push('callback');
    };
    const charge = await made('tok_callback_first');
    order.push('answer');
    expect(order).toEqual(['callback', 'answer']);
    expect([readBefore, charge.status]).toEqual(['succeeded', 'succeeded']);
    await sandbox.runFor(60 * SECOND_MS);
    expect(arrived()).toEqual(['charge.succeeded']);
    expect(await harness.events(charge.id)).toMatchObject([{ attempts: 1, delivered: true }]);
  });

  test('tok_callback_first responds to the charge request even if the receiver fails, and resends the event', async () => {
    receiver.statuses.push(500, 500);
    const { id } = await made('tok_callback_first');
    expect(await harness.events(id)).toMatchObject([{ attempts: 1, delivered: false }]);
    await sandbox.runFor(60 * SECOND_MS);
    expect(await harness.events(id)).toMatchObject([{ attempts: 3, delivered: true }]);
  });

  test('tok_callback_first responds to the charge request even if no callback URL is configured; its event then stays undelivered', async () => {
    sandbox.address = undefined;
    const { id } = await made('tok_callback_first');
    expect(await harness.events(id)).toMatchObject([{ attempts: 0, delivered: false }]);
  });

  test('tok_callback_first sends no callback for a replayed request', async () => {
    const first = await harness.charge('tok_callback_first', {}, 'k1');
    expect(await harness.charge('tok_callback_first', {}, 'k1')).toEqual(first);
    expect(arrived()).toEqual(['charge.succeeded']);
  });

  test('tok_callback_out_of_order delivers the newest event first', async () => {
    const { id, status } = await made('tok_callback_out_of_order');
    expect(status).toBe('pending');
    await sandbox.runFor(SECOND_MS - 1);
    expect(arrived()).toEqual([]);
    await sandbox.runFor(1);
    expect(arrived()).toEqual(['charge.succeeded', 'charge.pending']);
    expect(await harness.events(id)).toMatchObject([
      { type: 'charge.pending', attempts: 1, delivered: true },
      { type: 'charge.succeeded', attempts: 1, delivered: true },
    ]);
  });

  test('tok_callback_out_of_order sends the older event only after the newest event is accepted', async () => {
    receiver.statuses.push(500, 500);
    await made('tok_callback_out_of_order');
    await sandbox.runFor(60 * SECOND_MS);
    expect(arrived()).toEqual(['charge.succeeded', 'charge.succeeded', 'charge.succeeded', 'charge.pending']);
  });

  test('tok_callback_out_of_order eventually sends the older event, even if the newest event is never accepted', async () => {
    receiver.statuses.push(...Array<number>(20).fill(500));
    await made('tok_callback_out_of_order');
    await sandbox.runFor(24 * 3_600 * SECOND_MS);
    expect(arrived()).toEqual([...Array<string>(20).fill('charge.succeeded'), 'charge.pending']);
  });

  test('tok_callback_late_success is declined, but charged after 3 seconds', async () => {
    const answer = await harness.charge('tok_callback_late_success', {}, 'k1');
    expect(answer.status).toBe(402);
    const { code, charge: id = '' } = errorIn(answer);
    expect(code).toBe('card_declined');
    await sandbox.runFor(3 * SECOND_MS - 1);
    expect((await harness.read(id)).status).toBe('declined');
    await sandbox.runFor(1);
    expect(await harness.read(id)).toMatchObject({ status: 'succeeded', failure: null, amount_captured: 1_999 });
    await redeliverAll();
    expect(arrived()).toEqual(['charge.declined', 'charge.succeeded']);
    expect((await harness.charge('tok_callback_late_success', {}, 'k1')).status).toBe(201);
  });

  test('tok_declined stays declined', async () => {
    const { charge: id = '' } = errorIn(await harness.charge('tok_declined'));
    await sandbox.runFor(60 * SECOND_MS);
    expect((await harness.read(id)).status).toBe('declined');
    expect(arrived()).toEqual(['charge.declined']);
  });

  test('tok_dispute is charged, and disputed in full once after 2 seconds', async () => {
    const { id, status } = await made('tok_dispute');
    expect(status).toBe('succeeded');
    await sandbox.runFor(2 * SECOND_MS);
    const disputed = await harness.read(id);
    expect(disputed.disputes).toMatchObject([{ object: 'dispute', charge: id, amount: 1_999, status: 'open' }]);
    await redeliverAll();
    expect(await harness.read(id)).toEqual(disputed);
    expect(arrived()).toEqual(['charge.succeeded', 'dispute.opened']);
    expect(receiver.arrivals.at(-1)?.event.data).toEqual({
      charge: id,
      payment: 'pay_1',
      dispute: disputed.disputes[0]?.id,
    });
  });

  test.each([
    [1_999, 88],
    [1_000, 59],
    [500, 45],
    [50, 31],
    [17, 17],
    [31, 31],
    [32, 31],
    [1, 1],
    [Number.MAX_SAFE_INTEGER, 261_208_778_387_489 + 30],
  ])('tok_fee on %d minor units has a fee of %d', async (amount, fee) => {
    expect((await made('tok_fee', { amount })).fee).toBe(fee);
  });

  test('tok_fee on a partial capture has the fee of the captured amount', async () => {
    const { id } = await made('tok_fee', { capture: 'manual' });
    expect(chargeIn(await harness.post(`/charges/${id}/capture`, { amount: 1_000 })).fee).toBe(59);
  });

  test('tok_ok and tok_async have no fee', async () => {
    expect((await made('tok_ok')).fee).toBeNull();
    expect((await made('tok_async')).fee).toBeNull();
  });

  test('an injected source applies to the next request, no matter which source that request names', async () => {
    const switched = { method: 'PUT', path: '/control/failures' };
    await callSandbox(sandbox.handler, { ...switched, body: JSON.stringify({ count: 1, source: 'tok_async' }) });
    expect((await made('tok_ok')).status).toBe('pending');
    expect((await made('tok_ok')).status).toBe('succeeded');
  });
});
