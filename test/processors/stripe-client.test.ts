/** Tests the guarantee "separate modes". */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import type { ChargeOrder, Processor } from '../../lambdas/payments/use/processor.ts';
import { freshOrder } from '../orders/sandbox-orders.ts';
import { DOUBLE_KEY, type StripeDouble, serveStripe } from './stripe-double.ts';
import { clientAt } from './stripe-double-client.ts';

const LIMIT = { timeoutMs: 600_000 };
const SHORT = { timeoutMs: 150 };
const HOUR_MS = 60 * 60 * 1_000;
const order = (changes: Partial<ChargeOrder> = {}) => freshOrder({ source: 'pm_card_visa', ...changes });

describe('a charge at Stripe', () => {
  let double: StripeDouble;
  let client: Processor;
  beforeEach(async () => {
    double = await serveStripe({ fee: 88, searchLagMs: HOUR_MS });
    client = clientAt(double.url, { clock: double.clock });
  });
  afterEach(async () => {
    await double[Symbol.asyncDispose]();
  });

  test('is made by a client that declares its abilities, account, endpoint and API version', () => {
    expect(client).toMatchObject({
      name: 'stripe',
      account: 'acct_double',
      endpoint: double.url,
      apiVersion: '2026-10-28.endive',
      abilities: {
        lookup: { kind: 'eventual', maxLagMs: HOUR_MS },
        keyRetentionMs: 24 * HOUR_MS,
        partialCapture: true,
        refund: true,
        partialRefund: true,
        holdValidityMs: 7 * 24 * HOUR_MS,
      },
    });
  });

  test('is one confirmed PaymentIntent with Payonce’s ids, the operation as idempotency key, and the pinned API version', async () => {
    const wanted = order();
    const outcome = await client.charge(wanted, LIMIT);
    const [intent] = double.intentsOf(wanted.paymentId);
    expect(outcome).toEqual({ kind: 'succeeded', chargeId: intent?.id, feeMinor: 88 });
    expect(double.calls).toHaveLength(1);
    expect(double.calls[0]).toMatchObject({ method: 'POST', path: '/v1/payment_intents' });
    expect(double.calls[0]?.headers).toMatchObject({
      authorization: `Bearer ${DOUBLE_KEY}`,
      'content-type': 'application/x-www-form-urlencoded',
      'idempotency-key': wanted.operationId,
      'stripe-version': '2026-10-28.endive',
    });
    expect(double.calls[0]?.headers).not.toHaveProperty('x-stripe-client-telemetry');
    expect(double.calls[0]?.params).toEqual({
      amount: '1999',
      currency: 'eur',
      payment_method: 'pm_card_visa',
      error_on_requires_action: 'true',
      capture_method: 'automatic',
      confirm: 'true',
      'automatic_payment_methods[enabled]': 'true',
      'automatic_payment_methods[allow_redirects]': 'never',
      'metadata[payment]': wanted.paymentId,
      'metadata[operation]': wanted.operationId,
      'expand[0]': 'latest_charge.balance_transaction',
    });
  });

  test('is authorized if capture is manual, and the look-up still reports it as authorized after the hold expires', async () => {
    const wanted = order({ capture: 'manual' });
    const outcome = await client.charge(wanted, LIMIT);
    expect(outcome).toMatchObject({ kind: 'authorized' });
    double.advance(HOUR_MS);
    double.books.expire('chargeId' in outcome ? (outcome.chargeId ?? '') : '');
    expect(await client.findCharge(wanted, LIMIT)).toEqual(outcome);
  });

  test('has an action URL if the payer must approve and a return URL is configured', async () => {
    const returnUrl = 'https://shop.example/back';
    const withReturnUrl = clientAt(double.url, { clock: double.clock, returnUrl });
    const wanted = order({ source: 'pm_card_threeDSecure2Required' });
    const outcome = await withReturnUrl.charge(wanted, LIMIT);
    expect(outcome).toEqual({
      kind: 'action_required',
      chargeId: expect.stringMatching(/^pi_/),
      actionUrl: expect.stringMatching(/^https:\/\/hooks\.stripe\.com\/3d_secure_2\//),
    });
    expect(double.calls[0]?.params).toMatchObject({
      return_url: returnUrl,
      'automatic_payment_methods[allow_redirects]': 'always',
    });
  });

  test('has the payment’s own return URL instead of the configured one', async () => {
    const withReturnUrl = clientAt(double.url, { clock: double.clock, returnUrl: 'https://shop.example/default' });
    const returnUrl = 'https://shop.example/order-1';
    await withReturnUrl.charge({ ...order({ source: 'pm_card_threeDSecure2Required' }), returnUrl }, LIMIT);
    expect(double.calls[0]?.params).toMatchObject({ return_url: returnUrl });
  });

  test('is declined immediately if the payer must approve and no return URL is configured', async () => {
    const wanted = order({ source: 'pm_card_threeDSecure2Required' });
    const outcome = await client.charge(wanted, LIMIT);
    expect(outcome).toMatchObject({
      kind: 'declined',
      chargeId: expect.stringMatching(/^pi_/),
      failure: { code: 'authentication_required' },
    });
    expect(double.intentsOf(wanted.paymentId)).toMatchObject([{ status: 'requires_payment_method' }]);
  });

  test('is pending with an asynchronous payment method, and later found with its final status', async () => {
    const wanted = order({ source: 'pm_usBankAccount_success' });
    const outcome = await client.charge(wanted, LIMIT);
    expect(outcome).toMatchObject({ kind: 'pending' });
    const [intent] = double.intentsOf(wanted.paymentId);
    double.books.settle(intent?.id ?? '', 'approved');
    double.advance(HOUR_MS);
    expect(await client.findCharge(wanted, LIMIT)).toEqual({ kind: 'succeeded', chargeId: intent?.id, feeMinor: 88 });
  });

  test.each([
    ['pm_card_visa_chargeDeclined', { code: 'card_declined', message: 'Your card was declined.' }],
    [
      'pm_card_visa_chargeDeclinedInsufficientFunds',
      { code: 'insufficient_funds', message: 'Your card has insufficient funds.' },
    ],
  ])('is declined with %s and its reason, and later found as declined', async (source, failure) => {
    const wanted = order({ source });
    const outcome = await client.charge(wanted, LIMIT);
    expect(outcome).toEqual({ kind: 'declined', chargeId: double.intentsOf(wanted.paymentId)[0]?.id, failure });
    double.advance(HOUR_MS);
    expect(await client.findCharge(wanted, LIMIT)).toEqual(outcome);
  });

  test('is not found until the search index contains it; the look-up then returns its current status', async () => {
    const wanted = order();
    const outcome = await client.charge(wanted, LIMIT);
    double.advance(HOUR_MS - 1);
    expect(await client.findCharge(wanted, LIMIT)).toEqual({ kind: 'absent' });
    double.advance(1);
    expect(await client.findCharge(wanted, LIMIT)).toEqual(outcome);
  });

  test('is reported as absent if only another operation of the payment created a charge', async () => {
    const wanted = order();
    const another = { ...wanted, operationId: order().operationId };
    await client.charge(another, LIMIT);
    double.advance(HOUR_MS);
    expect(await client.findCharge(wanted, LIMIT)).toEqual({ kind: 'absent' });
  });

  test('gets its first response, even a 500, again if it is resent with the same key within 24 hours', async () => {
    const wanted = order();
    double.trouble(['error_before']);
    for (let send = 1; send <= 2; send += 1) {
      await expect(client.charge(wanted, LIMIT)).rejects.toMatchObject({
        name: 'AmbiguousError',
        code: 'processor_error',
      });
    }
    double.advance(24 * HOUR_MS);
    expect(await client.charge(wanted, LIMIT)).toMatchObject({ kind: 'succeeded' });
  });

  test('has an unknown outcome while its key is in use, and the result of the first request afterwards', async () => {
    const wanted = order();
    double.trouble(['held']);
    const first = client.charge(wanted, LIMIT);
    await arrived(double, 1);
    await expect(client.charge(wanted, LIMIT)).rejects.toMatchObject({
      name: 'AmbiguousError',
      code: 'processor_conflict',
    });
    double.release();
    const outcome = await first;
    expect(await client.charge(wanted, LIMIT)).toEqual(outcome);
    expect(double.intentsOf(wanted.paymentId)).toHaveLength(1);
  });

  test('is sent once after a broken connection, although Stripe’s package would retry', async () => {
    for (const trouble of ['reset_before', 'reset_after'] as const) {
      const wanted = order();
      double.trouble([trouble]);
      const before = double.calls.length;
      await expect(client.charge(wanted, LIMIT)).rejects.toMatchObject({
        name: 'AmbiguousError',
        code: 'processor_connection_lost',
      });
      expect(double.calls.length - before).toBe(1);
    }
  });

  test.each([
    ['unauthorized', 'RetryableError', 'processor_unauthorized'],
    ['forbidden', 'RetryableError', 'processor_unauthorized'],
    ['rate_limited', 'RetryableError', 'processor_rate_limited'],
    ['lock_timeout', 'AmbiguousError', 'processor_conflict'],
    ['unavailable', 'AmbiguousError', 'processor_error'],
    ['error_after', 'AmbiguousError', 'processor_error'],
    ['malformed_after', 'AmbiguousError', 'processor_answer_unreadable'],
    ['silent_before', 'AmbiguousError', 'processor_timeout'],
  ] as const)('fails with the same error as a look-up after the fault %s: %s %s', async (trouble, name, code) => {
    double.trouble([trouble, trouble], 'anyCall');
    const limit = trouble === 'silent_before' ? SHORT : LIMIT;
    await expect(client.charge(order(), limit)).rejects.toMatchObject({ name, code });
    await expect(client.findCharge(order(), limit)).rejects.toMatchObject({ name, code });
  });

  test('is not sent with a test-mode key in live mode', async () => {
    const live = clientAt(double.url, { clock: double.clock, mode: 'live' });
    await expect(live.charge(order(), LIMIT)).rejects.toMatchObject({ code: 'processor_key_unavailable' });
    await expect(live.findCharge(order(), LIMIT)).rejects.toMatchObject({ code: 'processor_key_unavailable' });
    expect(double.calls).toEqual([]);
  });

  test('uses a rotated key from the next request on, and is not sent without a valid key of its mode', async () => {
    let key: string | Error = 'sk_test_old';
    const rotating = clientAt(double.url, {
      breaker: { consecutiveFailures: 100, openForMs: 1 },
      clock: double.clock,
      apiKey: async () => {
        if (typeof key !== 'string') throw key;
        return key;
      },
    });
    await expect(rotating.charge(order(), LIMIT)).rejects.toMatchObject({ code: 'processor_unauthorized' });
    const before = double.calls.length;
    const unusable = ['', 'sk_live_1', 'rk_live_1', 'pk_test_1', ' sk_test_1', 'eHlzk0vQ3Jrandom'];
    for (const each of [new RetryableError('secrets_unavailable', 'no'), new Error('no'), ...unusable]) {
      key = each;
      await expect(rotating.charge(order(), LIMIT)).rejects.toMatchObject({
        name: 'RetryableError',
        code: 'processor_key_unavailable',
      });
    }
    expect(double.calls.length).toBe(before);
    key = DOUBLE_KEY;
    expect(await rotating.charge(order(), LIMIT)).toMatchObject({ kind: 'succeeded' });
  });

  test('is reported as absent only if the configured account was searched', async () => {
    await using other = await serveStripe({ account: 'acct_other' });
    const rotated = clientAt(other.url, { clock: other.clock });
    await expect(rotated.findCharge(order(), LIMIT)).rejects.toMatchObject({
      name: 'RetryableError',
      code: 'processor_account_other',
    });
    expect(await clientAt(double.url, { clock: double.clock }).findCharge(order(), LIMIT)).toEqual({ kind: 'absent' });
  });

  test('is not sent while the circuit breaker is open; the breaker probes with a read', async () => {
    const fragile = clientAt(double.url, {
      clock: double.clock,
      breaker: { consecutiveFailures: 2, openForMs: 1_000 },
    });
    double.trouble(['unavailable', 'unavailable']);
    for (let send = 1; send <= 2; send += 1) await expect(fragile.charge(order(), LIMIT)).rejects.toThrow();
    const before = double.calls.length;
    await expect(fragile.charge(order(), LIMIT)).rejects.toMatchObject({ code: 'processor_circuit_open' });
    expect(double.calls.length).toBe(before);
    double.advance(1_000);
    await fragile.ready();
    expect(double.calls.slice(before).map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /v1/payment_intents',
    ]);
  });
});

async function arrived(double: StripeDouble, count: number): Promise<void> {
  while (double.calls.length < count) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}
