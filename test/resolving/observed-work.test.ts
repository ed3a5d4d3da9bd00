import { beforeEach, describe, expect, test } from '@jest/globals';
import type { OpenRecord } from '../../lambdas/once/domain/idempotency.ts';
import type { Inquiry } from '../../lambdas/payments/use/payment-store.ts';
import type { UnfinishedWork } from '../../lambdas/payments/use/unfinished-work.ts';
import { type Backlog, observedWork } from '../../lambdas/resolving/use/observed-work.ts';

const NOW_MS = Date.UTC(2026, 2, 1, 12);
const MINUTE_MS = 60_000;

let told: Backlog[];
beforeEach(() => {
  told = [];
});

function observed(claims: readonly Partial<OpenRecord>[], inquiries: readonly Partial<Inquiry>[]): UnfinishedWork {
  const work = {
    staleClaims: async () => claims as readonly OpenRecord[],
    inquiries: async () => inquiries as readonly Inquiry[],
  } as unknown as UnfinishedWork;
  return observedWork(work, { nowMs: () => NOW_MS }, (backlog) => told.push(backlog));
}

describe('metrics of unfinished work', () => {
  test('open claims are counted with the age of the oldest; a released one belongs to its caller for 15 minutes', async () => {
    const claims = [
      { claimedAtMs: NOW_MS - 2 * MINUTE_MS, released: false },
      { claimedAtMs: NOW_MS - 14 * MINUTE_MS, released: true },
    ];
    expect(await observed(claims, []).staleClaims(NOW_MS, 10)).toBe(claims);
    expect(told).toEqual([{ open_claims: 1, oldest_open_claim: 120_000 }]);

    await observed([...claims, { claimedAtMs: NOW_MS - 16 * MINUTE_MS, released: true }], []).staleClaims(NOW_MS, 10);
    expect(told[1]).toEqual({ open_claims: 2, oldest_open_claim: 960_000 });
  });

  test('unknown outcomes are counted with the age of the oldest; those that wait for their payer or a bank are not', async () => {
    const inquiries = [
      { claimedAtMs: NOW_MS - 3 * MINUTE_MS },
      { claimedAtMs: NOW_MS - 90 * MINUTE_MS, waitsFor: 'payer' as const },
      { claimedAtMs: NOW_MS - 90 * MINUTE_MS, waitsFor: 'bank' as const },
      { claimedAtMs: NOW_MS - 2 * MINUTE_MS, waitsFor: 'books' as const },
    ];
    expect(await observed([], inquiries).inquiries(10)).toBe(inquiries);
    expect(told).toEqual([{ unknown_outcomes: 2, oldest_unknown_outcome: 180_000 }]);
  });

  test('zero is reported too, and a claim time in the future counts as age 0', async () => {
    await observed([{ claimedAtMs: NOW_MS + MINUTE_MS, released: false }], []).staleClaims(NOW_MS, 10);
    await observed([], []).inquiries(10);
    expect(told).toEqual([
      { open_claims: 1, oldest_open_claim: 0 },
      { unknown_outcomes: 0, oldest_unknown_outcome: 0 },
    ]);
  });
});
