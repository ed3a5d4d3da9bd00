import { beforeEach, describe, expect, test } from '@jest/globals';
import type { OpenRecord } from '../../lambdas/once/domain/idempotency.ts';
import type { Inquiry } from '../../lambdas/payments/use/payment-store.ts';
import type { UnfinishedWork } from '../../lambdas/payments/use/unfinished-work.ts';
import { type Backlog, observedWork } from '../../lambdas/resolving/use/observed-work.ts';

const NOW_MS = Date.UTC(2026, 2, 1, 12);
const MINUTE_MS = 60_000;
const DUE = { untilMs: NOW_MS, limit: 10 };

let reported: Backlog[];
beforeEach(() => {
  reported = [];
});

function observed(claims: readonly Partial<OpenRecord>[], inquiries: readonly Partial<Inquiry>[]): UnfinishedWork {
  const work = {
    staleClaims: async () => claims as readonly OpenRecord[],
    undetermined: async () => inquiries as readonly Inquiry[],
    unknownOutcomes: async () => [],
  } as unknown as UnfinishedWork;
  return observedWork(work, { nowMs: () => NOW_MS }, (backlog) => reported.push(backlog));
}

describe('in the metrics of unfinished work,', () => {
  test('open claims are counted with the age of the oldest claim', async () => {
    const claims = [
      { claimedAtMs: NOW_MS - 2 * MINUTE_MS, released: false },
      { claimedAtMs: NOW_MS - 16 * MINUTE_MS, released: true },
    ];
    expect(await observed(claims, []).staleClaims(DUE)).toBe(claims);
    expect(reported).toEqual([{ open_claims: 2, oldest_open_claim: 960_000 }]);
  });

  test('unknown outcomes are counted with the age of the oldest outcome', async () => {
    const inquiries = [
      { claimedAtMs: NOW_MS - 3 * MINUTE_MS },
      { claimedAtMs: NOW_MS - 2 * MINUTE_MS, waitsFor: 'books' as const },
    ];
    await observed([], inquiries).unknownOutcomes(DUE);
    expect(reported).toEqual([{ unknown_outcomes: 2, oldest_unknown_outcome: 180_000 }]);
  });

  test('an empty queue is reported as zero, and a claim time in the future as age 0', async () => {
    await observed([{ claimedAtMs: NOW_MS + MINUTE_MS, released: false }], []).staleClaims(DUE);
    await observed([], []).unknownOutcomes(DUE);
    expect(reported).toEqual([
      { open_claims: 1, oldest_open_claim: 0 },
      { unknown_outcomes: 0, oldest_unknown_outcome: 0 },
    ]);
  });
});
