import { describe, expect, test } from '@jest/globals';
import { pauseMs } from '../../client/backoff.ts';
import { fc } from '../support/properties.ts';

const attempts = fc.integer({ min: 0, max: 10_000 });
const fractions = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const asked = fc.integer({ min: 0, max: 1_000_000_000 });

describe('a pause between attempts', () => {
  test('is never shorter than the requested pause, and at most eight seconds longer than it', () => {
    fc.assert(
      fc.property(attempts, fractions, asked, (attempt, fraction, askedMs) => {
        const extraMs = pauseMs(attempt, fraction, askedMs) - askedMs;
        expect(extraMs).toBeGreaterThanOrEqual(0);
        expect(extraMs).toBeLessThan(8_000);
      }),
    );
  });

  test('ranges from zero to a ceiling that never decreases', () => {
    fc.assert(
      fc.property(attempts, fractions, (attempt, fraction) => {
        expect(pauseMs(attempt, 0)).toBe(0);
        expect(pauseMs(attempt + 1, fraction)).toBeGreaterThanOrEqual(pauseMs(attempt, fraction));
      }),
    );
    expect([0, 1, 2, 3, 4, 5].map((attempt) => pauseMs(attempt, 0.5))).toEqual([250, 500, 1_000, 2_000, 4_000, 4_000]);
  });

  test('is distributed evenly over its range', () => {
    fc.assert(
      fc.property(attempts, (attempt) => {
        const quarters = [0, 0.25, 0.5, 0.75].map((fraction) => pauseMs(attempt, fraction));
        const steps = quarters.slice(1).map((each, index) => each - (quarters[index] ?? 0));
        expect(new Set(steps).size).toBe(1);
      }),
    );
  });
});
