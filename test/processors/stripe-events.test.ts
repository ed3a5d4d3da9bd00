import { describe, expect, test } from '@jest/globals';
import { createStripeBooks } from '../../lambdas/processors/stripe/stripe-books.ts';
import { readStripeEvent } from '../../lambdas/processors/stripe/stripe-event.ts';
import { stripeSignature } from '../../lambdas/processors/stripe/stripe-signature.ts';
import { freshOrder } from '../orders/sandbox-orders.ts';
import { DOUBLE_KEY, DOUBLE_SECRET, serveStripe } from './stripe-double.ts';
import { clientAt } from './stripe-double-client.ts';

const SOURCE = { processorName: 'stripe', mode: 'test' } as const;
const LIMIT = { timeoutMs: 600_000 };

const bodyOf = (type: unknown, object: unknown, changes: object = {}) =>
  Buffer.from(JSON.stringify({ id: 'evt_1', object: 'event', livemode: false, type, data: { object }, ...changes }));
const read = (type: unknown, object: unknown, changes: object = {}) =>
  readStripeEvent(SOURCE, bodyOf(type, object, changes));
const INTENT = { object: 'payment_intent', id: 'pi_1' };

describe('Stripe events', () => {
  test.each([
    ['payment_intent.succeeded', INTENT],
    ['payment_intent.canceled', INTENT],
    ['payment_intent.payment_failed', INTENT],
    ['payment_intent.amount_capturable_updated', INTENT],
    ['charge.refunded', { object: 'charge', id: 'ch_1', payment_intent: 'pi_1' }],
    ['charge.updated', { object: 'charge', id: 'ch_1', payment_intent: 'pi_1' }],
    ['charge.refund.updated', { object: 'refund', id: 're_1', payment_intent: 'pi_1' }],
    ['refund.created', { object: 'refund', id: 're_1', payment_intent: 'pi_1' }],
    ['refund.failed', { object: 'refund', id: 're_1', payment_intent: 'pi_1' }],
    ['charge.dispute.created', { object: 'dispute', id: 'dp_1', payment_intent: 'pi_1' }],
    ['charge.dispute.closed', { object: 'dispute', id: 'dp_1', payment_intent: 'pi_1' }],
  ])('identify their PaymentIntent: %s', (type, object) => {
    expect(read(type, object)).toEqual({
      kind: 'event',
      event: { ...SOURCE, eventId: 'evt_1', type, chargeId: 'pi_1' },
    });
  });

  test.each([
    ['an event type that does not change a payment', 'customer.created', { object: 'customer', id: 'cus_1' }],
    ['an unknown event type', 'charge.teleported', {}],
    [
      'a refund of a charge without an intent',
      'refund.created',
      { object: 'refund', id: 're_1', payment_intent: null },
    ],
    ['a charge without an intent', 'charge.refunded', { object: 'charge', id: 'ch_1', payment_intent: null }],
  ])('are ignored, so that Stripe gets an acknowledgment: %s', (_what, type, object) => {
    expect(read(type, object)).toEqual({ kind: 'ignored', type });
  });

  test.each([
    ['no id', bodyOf('refund.created', {}, { id: undefined }), 'id'],
    ['an id with a space', bodyOf('refund.created', {}, { id: 'evt 1' }), 'id'],
    ['an object that is not an event', bodyOf('refund.created', {}, { object: 'v2.core.event' }), 'object'],
    ['a type that is not a string', bodyOf(7, INTENT), 'type'],
    ['a type with a line break', bodyOf('refund.created\n', INTENT), 'type'],
    ['no mode', bodyOf('refund.created', {}, { livemode: undefined }), 'livemode'],
    ['no data', bodyOf('refund.created', {}, { data: null }), 'data'],
    ['an intent without an id', bodyOf('payment_intent.succeeded', { object: 'payment_intent' }), 'data.object.id'],
    [
      'a charge instead of an intent',
      bodyOf('payment_intent.succeeded', { object: 'charge', id: 'ch_1' }),
      'data.object.object',
    ],
    [
      'a refund without an intent field',
      bodyOf('refund.created', { object: 'refund', id: 're_1' }),
      'data.object.payment_intent',
    ],
    [
      'an empty intent id',
      bodyOf('refund.created', { object: 'refund', payment_intent: '' }),
      'data.object.payment_intent',
    ],
  ])('are unreadable with %s, and the invalid field is named', (_what, body, param) => {
    expect(readStripeEvent(SOURCE, body)).toMatchObject({ kind: 'unreadable', param });
  });

  test.each([
    ['in live mode at the test-mode address', 'test', true],
    ['in test mode at the live-mode address', 'live', false],
  ] as const)('%s are refused', (_what, mode, livemode) => {
    const body = bodyOf('payment_intent.succeeded', INTENT, { livemode });
    expect(readStripeEvent({ processorName: 'stripe', mode }, body)).toMatchObject({
      kind: 'unreadable',
      param: 'livemode',
    });
  });

  test.each([
    ['not JSON', Buffer.from('{"id":')],
    ['not UTF-8', Buffer.from([0x7b, 0xff, 0x7d])],
    ['a list', Buffer.from('[]')],
  ])('are unreadable if the body is %s', (_what, body) => {
    expect(readStripeEvent(SOURCE, body)).toMatchObject({ kind: 'unreadable', detail: expect.any(String) });
    expect(readStripeEvent(SOURCE, body)).not.toHaveProperty('param');
  });

  test('are verified over the raw bytes, and name the charge whose current state is then read', async () => {
    await using double = await serveStripe();
    const { url: baseUrl, clock } = double;
    const order = freshOrder({ source: 'pm_usBankAccount_success' });
    const { chargeId = '' } = await clientAt(baseUrl, { clock }).charge(order, LIMIT);
    double.books.settle(chargeId, 'approved');
    const { body, headers } = double.event('payment_intent.succeeded', { object: 'payment_intent', id: chargeId });
    const callback = (bytes: Buffer) => ({ body: bytes, header: (name: string) => [headers[name] ?? []].flat() });
    const verdict = (bytes: Buffer, nowMs: number) => stripeSignature.verify(callback(bytes), [DOUBLE_SECRET], nowMs);
    expect(verdict(body, clock.nowMs())).toMatchObject({ kind: 'valid' });
    expect(verdict(Buffer.concat([body, Buffer.from(' ')]), clock.nowMs())).not.toMatchObject({ kind: 'valid' });
    expect(verdict(body, clock.nowMs() + 301_000)).not.toMatchObject({ kind: 'valid' });
    const event = readStripeEvent(SOURCE, body);
    expect(event).toMatchObject({ kind: 'event', event: { chargeId } });
    const books = createStripeBooks({
      apiKey: async () => DOUBLE_KEY,
      mode: 'test',
      account: 'acct_double',
      baseUrl,
      clock,
    });
    expect(await books.readCharge(chargeId, LIMIT)).toMatchObject({
      status: 'succeeded',
      paymentId: order.paymentId,
    });
  });
});
