import { describe, expect, test } from '@jest/globals';
import { preferredWaitSeconds } from '../../lambdas/http/prefer-wait.ts';
import { fc } from '../support/properties.ts';

describe('Prefer: wait', () => {
  test.each([
    ['wait=5', 5],
    ['WAIT=5', 5],
    ['wait = 5', 5],
    ['wait="5"', 5],
    ['respond-async, wait=5', 5],
    ['wait=5, respond-async', 5],
    ['return=minimal; foo="a, b", wait=5', 5],
    ['wait=5; foo=bar', 5],
    ['handling=lenient,wait=5', 5],
    ['wait=8', 8],
    ['wait=9', 8],
    ['wait=100000', 8],
    ['wait=99999999999999999999', 8],
    ['wait=0', 0],
    ['wait=3, wait=7', 3],
  ])('%s means %d seconds', (header, seconds) => {
    expect(preferredWaitSeconds([header])).toBe(seconds);
  });

  test.each([
    '',
    'wait',
    'wait=',
    'wait=-1',
    'wait=1.5',
    'wait=abc',
    'await=5',
    'wait=5x',
    'foo="wait=5"',
    'foo="a, wait=5"',
  ])('%j expresses no preference', (header) => {
    expect(preferredWaitSeconds([header])).toBeUndefined();
  });

  test('is found in any header if there are several', () => {
    expect(preferredWaitSeconds(['respond-async', 'wait=4'])).toBe(4);
    expect(preferredWaitSeconds([])).toBeUndefined();
  });

  test('is a whole number of seconds from 0 to 8, or undefined, for any header', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: fc.constantFrom('wait', '=', '"', '5', ',', ';', ' ', '\\', '-') })),
        (values) => {
          const seconds = preferredWaitSeconds(values) ?? 0;
          expect(Number.isInteger(seconds) && seconds >= 0 && seconds <= 8).toBe(true);
        },
      ),
    );
  });
});
