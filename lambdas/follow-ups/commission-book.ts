import type { DueQueue } from '../resolving/use/due-queue.ts';
import type { Commission, CommissionName } from './commission.ts';

/**
 * The queue entry of a commission. It is written with the commission and removed when the commission is decided from
 * the Ledger.
 */
export interface CommissionDue extends CommissionName {
  readonly paymentId: string;
  readonly releasesAtMs: number;
}

export interface CommissionBook {
  /** The queue of commissions, sorted by the time at which they are decided from the Ledger. */
  readonly due: Pick<DueQueue<CommissionDue>, 'dueBefore' | 'close'>;
  /** With strong consistency. */
  readCommission(name: CommissionName): Promise<Commission | undefined>;
}
