import type { DueQueue } from '../resolving/use/due-queue.ts';
import type { Commission, CommissionName } from './commission.ts';

/** The queue entry of a commission. It is written with the commission and removed when the Ledger has decided it. */
export interface CommissionDue extends CommissionName {
  readonly paymentId: string;
  readonly releasesAtMs: number;
}

export interface CommissionBook {
  /** Commissions by the time at which the Ledger decides them. */
  readonly due: Pick<DueQueue<CommissionDue>, 'dueBefore' | 'close'>;
  /** Strongly consistent. */
  readCommission(name: CommissionName): Promise<Commission | undefined>;
}
