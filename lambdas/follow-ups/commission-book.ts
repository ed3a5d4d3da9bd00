import type { DueQueue } from '../resolving/use/due-queue.ts';
import type { Commission, CommissionName } from './commission.ts';

/** The queue entry of a commission that is locked, written with it, and gone once it is released or canceled. */
export interface CommissionDue extends CommissionName {
  readonly paymentId: string;
  readonly releasesAtMs: number;
}

export interface CommissionBook {
  /** By the time of their release. */
  readonly due: Pick<DueQueue<CommissionDue>, 'dueBefore'>;
  /** Consistent. */
  readCommission(name: CommissionName): Promise<Commission | undefined>;
}
