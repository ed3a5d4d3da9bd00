import type { PaymentId } from '../../kernel/ids.ts';
import type { WalkPage, WalkStep } from './view-store.ts';

/** For commands alone: goes through all payments of the Ledger. A payment that is made meanwhile may be missed. */
export interface LedgerWalk {
  payments(step: WalkStep): Promise<WalkPage<PaymentId>>;
}
