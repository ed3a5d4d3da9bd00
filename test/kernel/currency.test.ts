import { describe, expect, test } from '@jest/globals';
import { CURRENCIES, isCurrency, largestAmountMinor } from '../../lambdas/kernel/currency.ts';

describe('currencies', () => {
  test.each(['EUR', 'USD', 'JPY', 'KWD', 'CHF', 'VED'])('%s is known', (code) => {
    expect(isCurrency(code)).toBe(true);
  });

  test.each(['eur', 'EURO', 'EU', '', 'XXX', 'XAU', 'XTS', 'DEM', 'toString', '978', 'ЕUR'])('%j is not', (code) => {
    expect(isCurrency(code)).toBe(false);
    expect(largestAmountMinor(code)).toBeUndefined();
  });

  test('all are three upper-case letters, each listed once', () => {
    expect(CURRENCIES.filter((code) => !/^[A-Z]{3}$/.test(code))).toEqual([]);
    expect(new Set(CURRENCIES).size).toBe(CURRENCIES.length);
  });

  test.each([
    ['no decimals', 'JPY', 9_999_999_999],
    ['two decimals', 'EUR', 999_999_999_999],
    ['three decimals', 'KWD', 999_999_999_999],
  ])('the largest amount with %s', (_decimals, code, largest) => {
    expect(largestAmountMinor(code)).toBe(largest);
  });

  test('nine thousand of the largest payments still sum to a safe integer', () => {
    for (const code of CURRENCIES) {
      expect(Number.isSafeInteger((largestAmountMinor(code) ?? Number.NaN) * 9_000)).toBe(true);
    }
  });
});
