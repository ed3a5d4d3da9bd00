import { describe, expect, test } from '@jest/globals';
import { CLOCK_DIFFERENCE_MS, carriedUntilMs, LONGEST_TRANSACTION_MS } from '../../lambdas/postgres/carried-until.ts';

const NOW = Date.UTC(2026, 2, 1, 12);
const MARGIN = LONGEST_TRANSACTION_MS + CLOCK_DIFFERENCE_MS;

describe('the time until which the copies are complete', () => {
  test('is the time of the oldest uncopied row, minus the maximum transaction duration and clock difference', () => {
    expect(carriedUntilMs({ oldestMs: NOW - 3_600_000, beforeReadMs: NOW })).toBe(NOW - 3_600_000 - MARGIN);
  });

  test('is at most the start of the read, minus the maximum transaction duration and clock difference, so that it precedes all uncommitted rows', () => {
    expect(carriedUntilMs({ oldestMs: undefined, beforeReadMs: NOW })).toBe(NOW - MARGIN);
    // The clock of the row's writer is ahead.
    expect(carriedUntilMs({ oldestMs: NOW + 60_000, beforeReadMs: NOW })).toBe(NOW - MARGIN);
  });
});
