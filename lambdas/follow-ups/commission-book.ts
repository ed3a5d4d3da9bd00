import type { DueQueue } from '../resolving/use/due-queue.ts';
import type { Commission, CommissionName } from './commission.ts';

/** The queue entry of a locked commission. It is written with the commission and removed with its release or cancellation. */
export interface CommissionDue extends CommissionName {
  readonly paymentId: string;
  readonly releasesAtMs: number;
}

export interface CommissionBook {
  /** Locked commissions by the time of their release. */
  readonly due: Pick<DueQueue<CommissionDue>, 'dueBefore'>;
  /** Strongly consistent. */
  readCommission(name: CommissionName): Promise<Commission | undefined>;
}
