import { expect, test } from '@jest/globals';
import { money } from '../../console/show.ts';

test.each([
  [600, 'EUR', '6.00 EUR'],
  [-5, 'EUR', '-0.05 EUR'],
  [600, 'JPY', '600 JPY'],
  // For these currencies, the browser's locale data contains no decimals.
  [600, 'HUF', '6.00 HUF'],
  [600, 'IQD', '0.600 IQD'],
  [null, 'EUR', '–'],
] as const)('%p minor units of %s are shown as %s', (minor, currency, shown) => {
  expect(money(minor, currency)).toBe(shown);
});
