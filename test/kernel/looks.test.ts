import { describe, expect, test } from '@jest/globals';
import { firstLookUpMs, type LookUpSchedule, lookUpIntervalMs, nextLookUpMs } from '../../lambdas/kernel/looks.ts';
import { fc } from '../support/properties.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const SINCE_MS = 1_767_225_600_000;
const KINDS = ['answer', 'books', 'payer', 'bank', 'order', 'orphan', 'foreign'] as const;
const look = (kind: LookUpSchedule['kind'], name = 'pay_a'): LookUpSchedule => ({ kind, name, sinceMs: SINCE_MS });

/** The ages are in milliseconds, and `resolve` runs every minute. */
function ages(schedule: LookUpSchedule, untilMs: number): readonly number[] {
  const found: number[] = [];
  for (let atMs = firstLookUpMs(schedule); atMs < SINCE_MS + untilMs; atMs = nextLookUpMs(schedule, atMs))
    found.push(atMs - SINCE_MS);
  return found;
}

describe('a queue entry', () => {
  test.each([
    ['answer', [60, 23 * 4, 24 * 4]],
    ['payer', [4, 23 * 4, 24]],
    ['bank', [1, 23, 1]],
    ['order', [60, 23 * 4, 24]],
    ['orphan', [60, 23 * 4, 24 * 4]],
  ] as const)(
    'is checked as often as its kind requires: %s, %j times in hour 1, hours 2 to 24, and day 3',
    (kind, times) => {
      const all = ages(look(kind), 3 * DAY_MS);
      const within = (fromMs: number, toMs: number) => all.filter((age) => age >= fromMs && age < toMs).length;
      expect([within(0, HOUR_MS), within(HOUR_MS, DAY_MS), within(2 * DAY_MS, 3 * DAY_MS)]).toEqual(times);
    },
  );

  test('that waits for the payer is checked only once a day after eight days', () => {
    expect(ages(look('payer'), 9 * DAY_MS).filter((age) => age >= 8 * DAY_MS)).toHaveLength(1);
  });

  test('of a callback for another program is checked at most ten times in its first day', () => {
    expect(ages(look('foreign'), DAY_MS).length).toBeLessThanOrEqual(10);
  });

  test('is checked within its interval, regardless of when the job runs', () => {
    const times = fc.record({ kind: fc.constantFrom(...KINDS), name: fc.string(), ageMs: fc.nat(40 * DAY_MS) });
    fc.assert(
      fc.property(times, ({ kind, name, ageMs }) => {
        const schedule = { kind, name, sinceMs: SINCE_MS };
        const first = firstLookUpMs(schedule) - SINCE_MS;
        expect(first).toBeLessThan(lookUpIntervalMs(schedule, SINCE_MS));
        const waits = nextLookUpMs(schedule, SINCE_MS + ageMs) - (SINCE_MS + ageMs);
        expect(waits).toBeGreaterThan(0);
        expect(waits).toBeLessThanOrEqual(lookUpIntervalMs(schedule, SINCE_MS + ageMs + MINUTE_MS));
      }),
    );
  });

  test('shares its minute with few other entries of the same age', () => {
    const names = Array.from({ length: 600 }, (_, each) => `pay_${each.toString(36).padStart(4, '0')}`);
    const minutes = new Map<number, number>();
    for (const name of names) {
      const atMs = nextLookUpMs(look('order', name), SINCE_MS + 2 * HOUR_MS);
      minutes.set(atMs, (minutes.get(atMs) ?? 0) + 1);
    }
    expect(minutes.size).toBe(15);
    expect(Math.max(...minutes.values())).toBeLessThan(80);
  });
});
