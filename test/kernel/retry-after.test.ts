import { describe, expect, test } from '@jest/globals';
import { parseRetryAfter } from '../../lambdas/kernel/retry-after.ts';
import { fc } from '../support/properties.ts';

describe('Retry-After', () => {
  const NOW = Date.UTC(2026, 2, 1, 12);
  test.each([
    ['0', 0],
    ['7', 7],
    [' 7\t', 7],
    ['3600', 3_600],
    ['86400', 3_600],
    ['9'.repeat(400), 3_600],
    ['Sun, 01 Mar 2026 12:00:05 GMT', 5],
    ['Sunday, 01-Mar-26 12:00:05 GMT', 5],
    ['Sun Mar  1 12:00:05 2026', 5],
    ['Sun, 01 Mar 2026 11:00:00 GMT', 0],
    ['Sun, 01 Mar 2036 12:00:00 GMT', 3_600],
    ['+40', undefined],
    ['-1', undefined],
    ['1.5', undefined],
    ['1e3', undefined],
    ['0x10', undefined],
    ['7, 7', undefined],
    ['7 s', undefined],
    ['2026-03-01T12:00:05Z', undefined],
    ['Sun, 01 Mar 2026 12:00:05', undefined],
    ['Sun, 01 Mar 2026 12:00:05 +0200', undefined],
    ['Sun, 99 Mar 2026 12:00:05 GMT', undefined],
    ['March 7', undefined],
    ['soon', undefined],
    ['', undefined],
    [null, undefined],
    [undefined, undefined],
  ])('%j means %p seconds', (value, expected) => {
    expect(parseRetryAfter(value, NOW)).toBe(expected);
  });

  test('is between zero and an hour for any header, and never throws', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.date().map(String), fc.bigInt().map(String)), (value) => {
        const seconds = parseRetryAfter(value, NOW) ?? 0;
        expect(seconds >= 0 && seconds <= 3_600).toBe(true);
      }),
    );
  });
});
