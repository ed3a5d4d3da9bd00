import type { Clock } from '../../kernel/world.ts';
import { SEND_WINDOW_MS } from '../../payments/domain/settlement.ts';
import type { UnfinishedWork } from '../../payments/use/unfinished-work.ts';
import { BacklogMetric, type BacklogMetricName } from '../contract.ts';

export type Backlog = Readonly<Partial<Record<BacklogMetricName, number>>>;

/**
 * Wraps the queues and reports the number and age of their items at every read, so the metrics need no reads of their own.
 */
export function observedWork(
  work: UnfinishedWork,
  clock: Pick<Clock, 'nowMs'>,
  tell: (backlog: Backlog) => void,
): UnfinishedWork {
  return {
    staleClaims: async (nowMs, limit) => {
      const claims = await work.staleClaims(nowMs, limit);
      // A released claim belongs to its caller until the end of its send window.
      const left = claims.filter(({ released, claimedAtMs }) => !released || nowMs > claimedAtMs + SEND_WINDOW_MS);
      tell({ [BacklogMetric.openClaims]: left.length, [BacklogMetric.oldestClaim]: ageOfOldest(left, nowMs) });
      return claims;
    },
    markClaim: (claim) => work.markClaim(claim),
    inquiries: async (limit) => {
      const inquiries = await work.inquiries(limit);
      // A payer and a bank take their time: a dispute lasts for weeks.
      const unknown = inquiries.filter(
        ({ waitsFor, undecidable }) => (waitsFor !== 'payer' && waitsFor !== 'bank') || undecidable === true,
      );
      const oldest = ageOfOldest(unknown, clock.nowMs());
      tell({ [BacklogMetric.unknownOutcomes]: unknown.length, [BacklogMetric.oldestUnknown]: oldest });
      return inquiries;
    },
    closeInquiry: (inquiry) => work.closeInquiry(inquiry),
    markInquiry: (...marked) => work.markInquiry(...marked),
    markReturn: (...marked) => work.markReturn(...marked),
    chargesToReturn: (limit) => work.chargesToReturn(limit),
    closeReturn: (charge) => work.closeReturn(charge),
  };
}

/** Clocks differ: a claim time in the future counts as age 0. */
function ageOfOldest(claimed: readonly { readonly claimedAtMs: number }[], nowMs: number): number {
  return claimed.reduce((oldest, { claimedAtMs }) => Math.max(oldest, nowMs - claimedAtMs), 0);
}
