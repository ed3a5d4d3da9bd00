import { describe, expect, test } from '@jest/globals';
import { CURRENCIES, largestAmountMinor } from '../../lambdas/kernel/currency.ts';
import { minorAmount, stripeAmount } from '../../lambdas/processors/stripe/stripe-amounts.ts';
import { createStripeBooks } from '../../lambdas/processors/stripe/stripe-books.ts';
import { createStripeClient } from '../../lambdas/processors/stripe/stripe-client.ts';
import { freshChange, freshOrder } from '../orders/sandbox-orders.ts';
import { DOUBLE_KEY, serveStripe } from './stripe-double.ts';

const LIMIT = { timeoutMs: 600_000 };

const optionsFor = ({ url, clock }: Awaited<ReturnType<typeof serveStripe>>) => ({
  apiKey: async () => DOUBLE_KEY,
  mode: 'test' as const,
  account: 'acct_double',
  baseUrl: url,
  clock,
});

describe('amounts in Stripe’s units', () => {
  test.each([
    ['EUR, two decimals: unchanged', 'EUR', 1_999, 1_999],
    ['JPY, no decimals: unchanged', 'JPY', 500, 500],
    ['HUF, two decimals for charges: unchanged', 'HUF', 1_045, 1_045],
    ['TWD, two decimals for charges: unchanged', 'TWD', 80_045, 80_045],
    ['KWD, three decimals: unchanged if the last digit is 0', 'KWD', 5_120, 5_120],
    ['ISK, no decimals: sent with two', 'ISK', 5, 500],
    ['UGX, no decimals: sent with two', 'UGX', 5, 500],
    ['MGA, two decimals in ISO 4217: sent in whole units', 'MGA', 1_500, 15],
  ])('%s', (_what, currency, amountMinor, amount) => {
    expect(stripeAmount(amountMinor, currency)).toEqual({ kind: 'amount', amount });
    expect(minorAmount(amount, currency)).toBe(amountMinor);
  });

  test.each([
    ['KWD', 5_124, 'amount_not_supported'],
    ['TND', 1, 'amount_not_supported'],
    ['MGA', 1_550, 'amount_not_supported'],
    ['IQD', 1_000, 'currency_not_supported'],
    ['LYD', 1_000, 'currency_not_supported'],
  ])('are refused, never rounded, if Stripe cannot represent them exactly: %s %d', (currency, amountMinor, code) => {
    expect(stripeAmount(amountMinor, currency)).toMatchObject({ kind: 'unsupported', failure: { code } });
  });

  test('are not converted to minor units if they contain a fraction of a króna (ISK has no decimals)', () => {
    expect(minorAmount(550, 'ISK')).toBeUndefined();
  });

  test('are the same after a conversion from minor units and back, in every currency and up to the largest payment', () => {
    for (const currency of CURRENCIES) {
      for (const amountMinor of [1, 10, 100, 1_230, 99_900, largestAmountMinor(currency) ?? 0]) {
        const sent = stripeAmount(amountMinor, currency);
        if (sent.kind === 'unsupported') continue;
        expect(Number.isSafeInteger(sent.amount)).toBe(true);
        expect([currency, minorAmount(sent.amount, currency)]).toEqual([currency, amountMinor]);
      }
    }
  });
});

describe('a payment in each kind of currency', () => {
  test.each([
    ['JPY', 500, '500'],
    ['ISK', 500, '50000'],
    ['KWD', 5_120, '5120'],
    ['MGA', 1_500, '15'],
    ['EUR', 1_999, '1999'],
  ])(
    'is charged, captured in part, refunded in part and read in minor units: %s %d',
    async (currency, amountMinor, sent) => {
      await using double = await serveStripe({ fee: 100 });
      const options = optionsFor(double);
      const client = createStripeClient(options);
      const order = freshOrder({ source: 'pm_card_visa', capture: 'manual', amountMinor, currency });
      const { chargeId = '' } = await client.charge(order, LIMIT);
      expect(double.calls[0]?.params).toMatchObject({ amount: sent, currency: currency.toLowerCase() });
      const part = currency === 'MGA' ? 1_400 : amountMinor - 10;
      const capture = freshChange(order, chargeId, { kind: 'capture', amountMinor: part });
      expect(await client.change(capture, LIMIT)).toMatchObject({
        kind: 'applied',
        facts: [{ kind: 'succeeded', capturedMinor: part }],
      });
      const refund = freshChange(order, chargeId, { kind: 'refund', amountMinor: 100 });
      expect(await client.change(refund, LIMIT)).toMatchObject({ kind: 'applied', facts: [{ amountMinor: 100 }] });
      expect(await createStripeBooks(options).readCharge(chargeId, LIMIT)).toMatchObject({
        amountMinor,
        capturedMinor: part,
        currency,
        feeMinor: minorAmount(100, currency),
        refunds: [{ refundId: refund.operationId, amountMinor: 100 }],
      });
    },
  );

  test.each([
    ['ISK', 1_449, 14],
    ['ISK', 1_450, 15],
    ['UGX', 49, 0],
    ['UGX', -49, 0],
    ['EUR', 1_449, 1_449],
  ])('is readable with any fee, which is rounded to the nearest minor unit: %s %d', async (currency, fee, feeMinor) => {
    await using double = await serveStripe({ fee });
    const options = optionsFor(double);
    const order = freshOrder({ source: 'pm_card_visa', amountMinor: 500, currency });
    const { chargeId = '' } = await createStripeClient(options).charge(order, LIMIT);
    expect(await createStripeBooks(options).readCharge(chargeId, LIMIT)).toMatchObject({ amountMinor: 500, feeMinor });
  });

  test('has no fee after Stripe has returned the fee with the refund, however the fee was rounded', async () => {
    await using double = await serveStripe({ fee: 1_450 });
    const options = optionsFor(double);
    const client = createStripeClient(options);
    const order = freshOrder({ source: 'pm_card_visa', amountMinor: 500, currency: 'ISK' });
    const { chargeId = '' } = await client.charge(order, LIMIT);
    await client.change(freshChange(order, chargeId, { kind: 'refund', amountMinor: 500 }), LIMIT);
    double.books.bookRefunds(chargeId, { fee: -1_450, currency: 'isk' });
    expect(await createStripeBooks(options).readCharge(chargeId, LIMIT)).toMatchObject({ feeMinor: 0 });
  });

  test('is rejected before any request if Stripe cannot represent its charge or change exactly', async () => {
    await using double = await serveStripe();
    const client = createStripeClient(optionsFor(double));
    const order = freshOrder({ source: 'pm_card_visa', currency: 'KWD', amountMinor: 5_124 });
    expect(await client.charge(order, LIMIT)).toEqual({
      kind: 'rejected',
      failure: { code: 'amount_not_supported', message: 'At this processor, amounts in KWD must end in 0.' },
    });
    expect(double.calls).toEqual([]);
    const taken = { ...order, amountMinor: 5_120 };
    const { chargeId = '' } = await client.charge(taken, LIMIT);
    const refund = freshChange(taken, chargeId, { kind: 'refund', amountMinor: 5_119 });
    expect(await client.change(refund, LIMIT)).toMatchObject({
      kind: 'refused',
      failure: { code: 'amount_not_supported' },
    });
    expect(double.calls.filter(({ path }) => path === '/v1/refunds')).toEqual([]);
  });
});
