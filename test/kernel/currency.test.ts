import { describe, expect, test } from '@jest/globals';
import {
  ACTIVE_CURRENCIES,
  CURRENCIES,
  decimalAmount,
  exampleAmount,
  isCurrency,
  largestAmountMinor,
  parseAmount,
} from '../../lambdas/kernel/currency.ts';
import { fc } from '../support/properties.ts';

describe('currencies', () => {
  test.each(['EUR', 'USD', 'JPY', 'KWD', 'CHF', 'VED', 'XCG'])('include %s', (code) => {
    expect(isCurrency(code)).toBe(true);
    expect(ACTIVE_CURRENCIES).toContain(code);
  });

  test('include the withdrawn BGN, which is the only currency that new payments cannot use', () => {
    expect(isCurrency('BGN')).toBe(true);
    expect(CURRENCIES.filter((code) => !ACTIVE_CURRENCIES.includes(code))).toEqual(['BGN']);
  });

  test.each(['eur', 'EURO', 'EU', '', 'XXX', 'XAU', 'XTS', 'DEM', 'toString', '978', 'ЕUR'])(
    'do not include %j',
    (code) => {
      expect(isCurrency(code)).toBe(false);
      expect(largestAmountMinor(code)).toBeUndefined();
    },
  );

  test('have codes of three upper-case letters, each listed once', () => {
    expect(CURRENCIES.filter((code) => !/^[A-Z]{3}$/.test(code))).toEqual([]);
    expect(new Set(CURRENCIES).size).toBe(CURRENCIES.length);
  });

  test.each([
    ['no decimals', 'JPY', 9_999_999_999],
    ['two decimals', 'EUR', 999_999_999_999],
    ['three decimals', 'KWD', 999_999_999_999],
  ])('have the expected largest amount if they have %s', (_decimals, code, largest) => {
    expect(largestAmountMinor(code)).toBe(largest);
  });

  test('have a largest amount that, multiplied by nine thousand, is still a safe integer', () => {
    for (const code of CURRENCIES) {
      expect(Number.isSafeInteger((largestAmountMinor(code) ?? Number.NaN) * 9_000)).toBe(true);
    }
  });
});

describe('an amount typed by a person', () => {
  test.each([
    ['6', 'EUR', 600],
    ['6.5', 'EUR', 650],
    ['6.00', 'EUR', 600],
    ['0.06', 'EUR', 6],
    ['0', 'EUR', 0],
    ['6', 'JPY', 6],
    ['1.234', 'KWD', 1234],
    ['1.2', 'IQD', 1200],
    ['6.5', 'XCG', 650],
    ['6.5', 'BGN', 650],
    ['90071992547409.91', 'EUR', Number.MAX_SAFE_INTEGER],
  ])('%j in %s is %d minor units', (text, currency, minor) => {
    expect(parseAmount(text, currency)).toBe(minor);
  });

  const WRONG =
    "1e3|0x10|0b1|Infinity|NaN|1,000|1,5|1'000|1 000| 6|6 |6\n|+6|-6|.5|6.|6.000|6.0.0|007|00|٣|６|6€|90071992547409.92| |";

  test.each([...WRONG.split('|'), '9'.repeat(400)])('%j is not an amount in EUR', (text) => {
    expect(parseAmount(text, 'EUR')).toBeUndefined();
  });

  test.each([
    ['6.0', 'JPY'],
    ['1.2345', 'KWD'],
    ['6', 'XXX'],
  ])('%j is not an amount in %s', (text, currency) => {
    expect(parseAmount(text, currency)).toBeUndefined();
  });

  test('is parsed back from its displayed form to the same value, in every currency', () => {
    const amount = fc.oneof(fc.maxSafeNat(), fc.nat({ max: 99_999 }));
    fc.assert(
      fc.property(fc.constantFrom(...CURRENCIES), amount, (currency, minor) => {
        expect(parseAmount(decimalAmount(minor, currency), currency)).toBe(minor);
      }),
    );
    for (const currency of CURRENCIES) expect(parseAmount(exampleAmount(currency), currency)).toBeGreaterThan(0);
  });

  test('is shown with a minus sign if it is negative', () => {
    expect([decimalAmount(-5, 'EUR'), decimalAmount(-1000, 'JPY')]).toEqual(['-0.05', '-1000']);
  });
});
