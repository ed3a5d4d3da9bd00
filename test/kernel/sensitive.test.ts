import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { findSensitive, redactSensitive } from '../../lambdas/kernel/sensitive.ts';

/** Numbers that the card schemes publish for tests. */
const CARD_NUMBERS = [
  ['Visa', '4242424242424242'],
  ['Visa of 13 digits', '4222222222222'],
  ['Mastercard', '5555555555554444'],
  ['Mastercard, 2-series', '2223003122003222'],
  ['American Express', '378282246310005'],
  ['Discover', '6011111111111117'],
  ['JCB', '3566002020360505'],
  ['Diners Club', '30569309025904'],
  ['UnionPay', '6200000000000005'],
  ['Maestro', '6759649826438453'],
] as const;

describe('card numbers', () => {
  test.each(CARD_NUMBERS)('of %s are found', (_name, number) => {
    expect(findSensitive(number)).toBe('card_number');
  });

  test.each([
    ['groups of four', '4242 4242 4242 4242'],
    ['dashes', '4242-4242-4242-4242'],
    ['the grouping of American Express', '3782 822463 10005'],
    ['non-breaking spaces', '4242\u00a04242\u00a04242\u00a04242'],
    ['dots', '4242.4242.4242.4242'],
    ['full-width digits', '４２４２４２４２４２４２４２４２'],
    ['zero-width spaces inside', '4242\u200b4242\u200b4242\u200b4242'],
    ['words around', 'paid with 4242424242424242, thanks'],
    ['letters at its sides', 'card4242424242424242x'],
    ['another number before it', 'order 12 4242 4242 4242 4242'],
    ['its expiry after it', '4242 4242 4242 4242 12 29'],
  ])('are found with %s', (_form, text) => {
    expect(findSensitive(text)).toBe('card_number');
  });

  test.each([
    ['a wrong check digit', '4242424242424241'],
    ['a prefix that no issuer has', '1234567890123452'],
    ['too few digits', '424242424242'],
    ['too many digits', '42424242424242424242'],
    ['milliseconds', '1772366400000'],
    ['a UUID', '8e03978e-40d5-43e8-bc93-6894a57f9324'],
    ['a telephone number', '+49 30 901820'],
    ['an amount', '1.000.000,00 EUR'],
    ['nothing', ''],
  ])('are not found in %s', (_what, text) => {
    expect(findSensitive(text)).toBeUndefined();
  });

  test('with any one digit changed are not found', () => {
    fc.assert(
      fc.property(fc.nat(15), fc.integer({ min: 1, max: 9 }), (place, shift) => {
        const digits = '4242424242424242'.split('');
        digits[place] = String((Number(digits[place]) + shift) % 10);
        expect(findSensitive(digits.join(''))).toBeUndefined();
      }),
    );
  });
});

describe('secrets', () => {
  test.each([
    ['a test key', 'sk_test_0123456789abcdef'],
    ['a live key', 'sk_live_0123456789abcdef'],
    ['a restricted key', 'rk_live_0123456789abcdef'],
    ['a webhook secret', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    ['an AWS access key id', 'AKIAIOSFODNN7EXAMPLE'],
    ['a private key', '-----BEGIN EC PRIVATE KEY-----'],
    ['a key in a sentence', 'please use sk_live_0123456789abcdef today'],
  ])('are found: %s', (_what, text) => {
    expect(findSensitive(text)).toBe('secret');
  });

  test.each(['task_test_results', 'sk_test_', 'a whsec_ prefix', 'tok_ok', 'pk_test_0123456789abcdef', 'rk_2024_plan'])(
    'are not found in %s',
    (text) => {
      expect(findSensitive(text)).toBeUndefined();
    },
  );
});

describe('redaction', () => {
  test('removes sensitive text and keeps the rest', () => {
    expect(redactSensitive('at 12:00 sk_live_0123456789abcdef and 4242 4242 4242 4242 failed')).toBe(
      'at 12:00 [secret] and [card number] failed',
    );
  });

  test('leaves nothing to find in any text with a secret or a card number', () => {
    const sensitive = fc.constantFrom('sk_live_0123456789abcdef', '4242424242424242', '3782 822463 10005');
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme-ascii' }), sensitive, (around, secret) => {
        expect(redactSensitive(`${around} ${secret} ${around}`)).not.toContain(secret);
      }),
    );
  });
});
