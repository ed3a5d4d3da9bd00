import { describe, expect, test } from '@jest/globals';
import { type PaidPayment, receiptAddress, receiptEmail } from '../../lambdas/follow-ups/receipt.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { parseOrderId, paymentOfOrder } from '../../lambdas/orders/ids.ts';

const PAYMENT: PaidPayment = {
  id: 'pay_1',
  amount_captured: 1005,
  currency: 'EUR',
  reference: 'order-7',
  description: 'Two shirts',
  metadata: { receipt_email: 'ada@example.com' },
  created: Date.UTC(2026, 2, 1, 23, 59) / 1000,
  livemode: true,
};

describe('a receipt', () => {
  test('states the amount, the date and the purpose', () => {
    expect(receiptEmail(PAYMENT)).toEqual({
      subject: 'Your receipt',
      text: [
        'Thank you for your payment.',
        '',
        'Paid: 10.05 EUR',
        'Date: 2026-03-01',
        'Payment: pay_1',
        'Reference: order-7',
        'For: Two shirts',
        '',
      ].join('\n'),
    });
  });

  test.each([
    ['JPY', 1000, '1000 JPY'],
    ['EUR', 5, '0.05 EUR'],
    ['KWD', 12_345, '12.345 KWD'],
  ])("shows an amount in %s with the currency's number of decimals", (currency, amount, shown) => {
    expect(receiptEmail({ ...PAYMENT, currency, amount_captured: amount }).text).toContain(`Paid: ${shown}\n`);
  });

  test.each([
    'Pay at https://evil.example/now',
    'Win at evil.com',
    'evil。com',
    'evil.\u034fcom',
    'evil\ufe0f.\ufe0fcom',
    'ｗｗｗ．evil．com',
    'mail me: eve@evil.com',
    'ftp://evil',
    'xn--e1afmkfd.xn--p1ai',
  ])('omits a field with a link: %j', (text) => {
    const plain = receiptEmail({ ...PAYMENT, description: null, reference: null });
    expect(receiptEmail({ ...PAYMENT, description: text, reference: text })).toEqual(plain);
  });

  test('shows each field on a single line, without control characters, and truncates long fields', () => {
    const description = `Shirts\r\n\u2028Paid: 0.00 EUR\u202e ${'x'.repeat(400)}`;
    const lines = receiptEmail({ ...PAYMENT, description }).text.split('\n');
    expect(lines).toHaveLength(receiptEmail(PAYMENT).text.split('\n').length);
    expect(lines.at(-2)).toMatch(/^For: Shirts Paid: 0\.00 EUR x+…$/);
    expect(lines.at(-2)?.length).toBe('For: '.length + 200);
  });

  test('states in test mode that no money was charged', () => {
    expect(receiptEmail({ ...PAYMENT, livemode: false }).text).toContain('This was a test: no money was charged.');
  });
});

describe('the address of a receipt', () => {
  const of = (metadata: Readonly<Record<string, string>>, id = PAYMENT.id) =>
    receiptAddress(systemDigest, { id, metadata });

  test('is the receipt_email in the metadata, if any', () => {
    expect(of({ receipt_email: 'ada@example.com' })).toEqual({ kind: 'address', to: 'ada@example.com' });
    expect(of({ order: '6735' })).toEqual({ kind: 'not_asked_for' });
  });

  test.each(
    [
      ['', 'ada', 'ada@', '@example.com', 'ada@example', 'a da@example.com', 'ada@example.com\nBcc: eve@example.com'],
      ['ada@example.com, eve@example.com', 'Ada <ada@example.com>', 'a..b@example.com', '.a@example.com'],
      [`${'a'.repeat(65)}@example.com`, `ada@${'a.'.repeat(125)}com`],
    ].flat(),
  )('is malformed: %j', (text) => {
    expect(of({ receipt_email: text })).toEqual({ kind: 'malformed' });
  });

  test('is ignored for the payment of an order, because the order sends its own confirmation, but not for another payment with that order id in its metadata', () => {
    const order = `ord_${'a'.repeat(32)}`;
    const orderId = parseOrderId(order);
    invariant(orderId !== undefined, 'the order id is malformed');
    const metadata = { receipt_email: 'ada@example.com', order };
    expect(of(metadata, paymentOfOrder(systemDigest, orderId))).toEqual({ kind: 'order_confirms' });
    expect(of(metadata)).toEqual({ kind: 'address', to: 'ada@example.com' });
  });
});
