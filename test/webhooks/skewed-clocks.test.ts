import { describe, expect, test } from '@jest/globals';
import { type SlowAttempts, withLateAttempt } from '../../lambdas/webhooks/domain/webhook-endpoint.ts';

const START_MS = Date.UTC(2027, 0, 4);
const MINUTE_MS = 60_000;

/** @param times the time that the sender’s clock shows at each attempt, in milliseconds after START_MS */
function slowAt(...times: readonly number[]): SlowAttempts | undefined {
  let late: SlowAttempts | undefined;
  for (const time of times) late = withLateAttempt(late, START_MS + time);
  return late;
}

describe('slow attempts of senders whose clocks differ', () => {
  test('are not counted as concurrent if the clocks differ by minutes, so they do not isolate the tenant', () => {
    const late = slowAt(5 * MINUTE_MS, 0, 6 * MINUTE_MS, MINUTE_MS);
    expect(late?.blockedAtMs).toBeUndefined();
    expect(late?.apartUntilMs).toBeUndefined();
  });

  test('are counted as one if one stall caused them, even if the second sender’s clock is behind the first one’s', () => {
    expect(slowAt(1_000, 0, 500)).toEqual({ sinceMs: START_MS + 1_000, blockedAtMs: START_MS + 1_000 });
  });

  test('still isolate the tenant for half an hour if senders were blocked twice', () => {
    const late = slowAt(1_000, 0, 20 * MINUTE_MS + 1_000, 20 * MINUTE_MS);
    expect(late?.apartUntilMs).toBe(START_MS + 50 * MINUTE_MS);
  });
});
