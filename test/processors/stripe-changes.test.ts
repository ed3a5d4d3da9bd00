import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import type { ChargeChange, ChargeOrder, Processor } from '../../lambdas/payments/use/processor.ts';
import type { CallStripe } from '../../lambdas/processors/stripe/stripe-api.ts';
import { makeChange } from '../../lambdas/processors/stripe/stripe-change.ts';
import { intentObject } from '../../lambdas/processors/stripe/stripe-objects.ts';
import { freshChange, freshOrder } from '../orders/sandbox-orders.ts';
import { type StripeDouble, serveStripe } from './stripe-double.ts';
import { clientAt } from './stripe-double-client.ts';
import { renderIntent } from './stripe-double-objects.ts';

const LIMIT = { timeoutMs: 600_000 };
const DAY_MS = 24 * 60 * 60 * 1_000;
const capture = (amountMinor: number): ChargeChange => ({ kind: 'capture', amountMinor });
const refund = (amountMinor: number): ChargeChange => ({ kind: 'refund', amountMinor });
const VOID: ChargeChange = { kind: 'void' };

describe('a change of a charge at Stripe', () => {
  let double: StripeDouble;
  let client: Processor;
  beforeEach(async () => {
    double = await serveStripe({ fee: 88 });
    client = clientAt(double.url, { clock: double.clock });
  });
  afterEach(async () => {
    await double[Symbol.asyncDispose]();
  });

  const charged = async (changes: Partial<ChargeOrder> = {}) => {
    const order = freshOrder({ source: 'pm_card_visa', ...changes });
    const outcome = await client.charge(order, LIMIT);
    const chargeId = outcome.chargeId ?? '';
    return { chargeId, toChange: (change: ChargeChange) => freshChange(order, chargeId, change) };
  };
  const held = () => charged({ capture: 'manual' });
  const writes = () => double.calls.filter(({ method }) => method === 'POST').slice(1);

  test('is one request with its operation as the idempotency key; for a refund, the metadata also contains the operation', async () => {
    const one = await held();
    const taken = one.toChange(capture(500));
    await client.change(taken, LIMIT);
    const back = one.toChange(refund(200));
    await client.change(back, LIMIT);
    expect(writes().map(({ path, headers, params }) => [path, headers['idempotency-key'], params])).toEqual([
      [
        `/v1/payment_intents/${one.chargeId}/capture`,
        taken.operationId,
        { amount_to_capture: '500', 'expand[0]': 'latest_charge.balance_transaction' },
      ],
      [
        '/v1/refunds',
        back.operationId,
        {
          payment_intent: one.chargeId,
          amount: '200',
          'metadata[payment]': back.paymentId,
          'metadata[operation]': back.operationId,
        },
      ],
    ]);
  });

  test('is sent with the reason requested_by_customer if it is a void', async () => {
    const { chargeId, toChange } = await held();
    await client.change(toChange(VOID), LIMIT);
    expect(writes()).toMatchObject([
      { path: `/v1/payment_intents/${chargeId}/cancel`, params: { cancellation_reason: 'requested_by_customer' } },
    ]);
  });

  test('reports the fee if it is a capture', async () => {
    const { chargeId, toChange } = await held();
    expect(await client.change(toChange(capture(500)), LIMIT)).toEqual({
      kind: 'applied',
      facts: [{ kind: 'succeeded', chargeId, capturedMinor: 500, feeMinor: 88 }],
    });
  });

  test('has an unknown outcome if the response to a capture shows a different amount', async () => {
    const { chargeId, toChange } = await held();
    await client.change(toChange(capture(400)), LIMIT);
    const intent = double.books.intents.get(chargeId);
    invariant(intent !== undefined, 'the intent does not exist');
    const value = intentObject.parse(renderIntent(intent, ['latest_charge.balance_transaction']));
    const call = (async () => ({ kind: 'done', value })) as unknown as CallStripe;
    await expect(makeChange(call, toChange(capture(500)), () => 1_000)).rejects.toMatchObject({
      name: 'AmbiguousError',
    });
    expect(await makeChange(call, toChange(capture(400)), () => 1_000)).toMatchObject({ kind: 'applied' });
  });

  test.each([
    ['capture', capture(500), capture(1_999), { kind: 'succeeded', capturedMinor: 500 }],
    ['void', VOID, VOID, { kind: 'voided', reason: 'requested' }],
  ] as const)(
    'is reported as applied, not as refused, if another client has already made the same %s',
    async (_kind, theirs, ours, fact) => {
      const { toChange } = await held();
      await client.change(toChange(theirs), LIMIT);
      const order = toChange(ours);
      expect(await client.change(order, LIMIT)).toMatchObject({ kind: 'applied', facts: [fact] });
      expect(await client.findChange(order, LIMIT)).toMatchObject({ kind: 'applied', facts: [fact] });
    },
  );

  test('takes effect once if it is a full refund, even if it is resent after its key expired', async () => {
    const { chargeId, toChange } = await charged();
    const order = toChange(refund(1_999));
    const outcome = await client.change(order, LIMIT);
    double.advance(DAY_MS);
    expect(await client.change(order, LIMIT)).toEqual(outcome);
    expect(double.books.intents.get(chargeId)?.refunds).toHaveLength(1);
  });

  test('has an unknown outcome if Stripe refuses it and the intent cannot be read', async () => {
    for (const trouble of ['unavailable', 'unauthorized', 'rate_limited'] as const) {
      const { toChange } = await charged();
      const order = toChange(VOID);
      double.trouble(['held', trouble], 'anyCall');
      const outcome = client.change(order, LIMIT).catch((error: unknown) => error);
      while (double.calls.at(-1)?.headers['idempotency-key'] !== order.operationId) {
        await new Promise((resolve) => {
          setImmediate(resolve);
        });
      }
      double.release();
      expect(await outcome).toMatchObject({ name: 'AmbiguousError' });
    }
  });

  test('is refused for an expired hold if it is a capture, and reports the expiry if it is a void', async () => {
    const { chargeId, toChange } = await held();
    double.books.expire(chargeId);
    expect(await client.change(toChange(capture(500)), LIMIT)).toMatchObject({
      kind: 'refused',
      failure: { code: 'payment_intent_unexpected_state' },
    });
    expect(await client.change(toChange(VOID), LIMIT)).toEqual({
      kind: 'applied',
      facts: [{ kind: 'voided', chargeId, reason: 'expired' }],
    });
  });

  test('is pending if it is a refund that has not settled, and failed with Stripe’s reason if the refund does not reach the payer', async () => {
    const { chargeId, toChange } = await charged({ source: 'pm_card_pendingRefund' });
    const order = toChange(refund(700));
    const fact = { kind: 'refund', refundId: order.operationId, chargeId, amountMinor: 700 };
    expect(await client.change(order, LIMIT)).toEqual({ kind: 'applied', facts: [{ ...fact, status: 'pending' }] });
    double.books.failRefund(double.books.intents.get(chargeId)?.refunds[0]?.id ?? '');
    expect(await client.findChange(order, LIMIT)).toEqual({
      kind: 'applied',
      facts: [
        {
          ...fact,
          status: 'failed',
          failure: { code: 'lost_or_stolen_card', message: 'The refund did not reach the payer.' },
        },
      ],
    });
  });

  test('can be looked up even if it is a refund that Stripe’s charge object does not list', async () => {
    const { toChange } = await charged();
    const first = toChange(refund(1));
    const outcome = await client.change(first, LIMIT);
    for (let more = 1; more <= 110; more += 1) await client.change(toChange(refund(1)), LIMIT);
    expect(await client.findChange(first, LIMIT)).toEqual(outcome);
  });

  test('fails with a RetryableError if it is a refund and the API key belongs to another account or mode; its look-up fails with an AmbiguousError', async () => {
    await using other = await serveStripe();
    const order = (await charged()).toChange(refund(500));
    const rotated = clientAt(other.url, { clock: other.clock });
    await expect(rotated.change(order, LIMIT)).rejects.toMatchObject({
      name: 'RetryableError',
      code: 'processor_charge_unknown',
    });
    await expect(rotated.findChange(order, LIMIT)).rejects.toMatchObject({ name: 'AmbiguousError' });
  });

  test('cannot be looked up unambiguously if Stripe has two refunds of one operation', async () => {
    const { toChange } = await charged();
    const order = toChange(refund(10));
    await client.change(order, LIMIT);
    double.advance(DAY_MS);
    await client.change(order, LIMIT);
    await expect(client.findChange(order, LIMIT)).rejects.toMatchObject({
      name: 'AmbiguousError',
      code: 'processor_answer_mismatch',
    });
  });
});
