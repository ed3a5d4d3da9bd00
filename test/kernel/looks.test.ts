import { describe, expect, test } from '@jest/globals';
import { fromTurn, isInquiryDue, type Looked } from '../../lambdas/kernel/looks.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const CLAIMED_AT_MS = 1_767_225_600_000;
const names = Array.from({ length: 600 }, (_, each) => `pay_${each.toString(36).padStart(4, '0')}`);
const inquiry = (operationId = 'pay_a', changes: Partial<Looked> = {}): Looked => ({
  operationId,
  claimedAtMs: CLAIMED_AT_MS,
  ...changes,
});
const looks = (looked: Looked, fromAgeMs: number, minutes: number) =>
  Array.from({ length: minutes }, (_, minute) => CLAIMED_AT_MS + fromAgeMs + minute * MINUTE_MS).filter((nowMs) =>
    isInquiryDue(looked, nowMs),
  ).length;

describe('an inquiry', () => {
  test('is made every minute for an hour, and then every quarter of an hour', () => {
    expect(looks(inquiry(), 0, 60)).toBe(60);
    expect(looks(inquiry(), HOUR_MS, 60)).toBe(4);
    expect(looks(inquiry(), 90 * DAY_MS, 60)).toBe(4);
  });

  test('that waits for a payer is made every quarter of an hour from the start, and then at growing intervals', () => {
    const waiting = inquiry('pay_a', { waitsFor: 'payer' });
    expect(looks(waiting, 0, 60)).toBe(4);
    expect(looks(waiting, DAY_MS, 24 * 60)).toBe(24);
    expect(looks(waiting, 7 * DAY_MS, 24 * 60)).toBe(1);
  });

  test('of the same age as many others is spread over the minutes: no minute has more than its share', () => {
    for (let minute = 0; minute < 15; minute += 1) {
      const nowMs = CLAIMED_AT_MS + 2 * HOUR_MS + minute * MINUTE_MS;
      const due = names.filter((name) => isInquiryDue(inquiry(name), nowMs)).length;
      expect(due).toBeGreaterThan(10);
      expect(due).toBeLessThan(80);
    }
  });
});

test.each([1, 15, 60])(
  'a run includes all its items, and each is among the first in one of few runs every %i minutes',
  (every) => {
    const first = new Set<string>();
    for (let run = 0; run < 40; run += 1) {
      const things = fromTurn(names, CLAIMED_AT_MS + run * every * MINUTE_MS);
      expect(new Set(things).size).toBe(names.length);
      for (const name of things.slice(0, 60)) first.add(name);
    }
    expect(first.size).toBe(names.length);
  },
);
