import type { Clock } from '../../kernel/world.ts';
import type { UnfinishedWork } from '../../payments/use/unfinished-work.ts';
import { BacklogMetric, type BacklogMetricName } from '../contract.ts';

export type Backlog = Readonly<Partial<Record<BacklogMetricName, number>>>;

/** Whenever a run reads open claims or unknown outcomes, reports their number, and the age of the oldest one. */
export function observedWork(
  work: UnfinishedWork,
  clock: Pick<Clock, 'nowMs'>,
  report: (backlog: Backlog) => void,
): UnfinishedWork {
  return {
    staleClaims: async (due) => {
      const claims = await work.staleClaims(due);
      report({
        [BacklogMetric.openClaims]: claims.length,
        [BacklogMetric.oldestClaim]: ageOfOldest(claims, due.untilMs),
      });
      return claims;
    },
    postponeClaim: (...next) => work.postponeClaim(...next),
    unknownOutcomes: async (due) => {
      const unknown = await work.undetermined(due.limit);
      const oldest = ageOfOldest(unknown, clock.nowMs());
      report({ [BacklogMetric.unknownOutcomes]: unknown.length, [BacklogMetric.oldestUnknown]: oldest });
      return work.unknownOutcomes(due);
    },
    routineInquiries: (due) => work.routineInquiries(due),
    undetermined: (limit) => work.undetermined(limit),
    closeInquiry: (inquiry) => work.closeInquiry(inquiry),
    postponeInquiry: (...next) => work.postponeInquiry(...next),
    chargesToReturn: (due) => work.chargesToReturn(due),
    postponeReturn: (...next) => work.postponeReturn(...next),
    closeReturn: (charge) => work.closeReturn(charge),
  };
}

/** If clocks differ, a claim time can be in the future; the entry's age is then 0. */
function ageOfOldest(claimed: readonly { readonly claimedAtMs: number }[], nowMs: number): number {
  return claimed.reduce((oldest, { claimedAtMs }) => Math.max(oldest, nowMs - claimedAtMs), 0);
}
