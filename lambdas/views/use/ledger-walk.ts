import type { PaymentId } from '../../kernel/ids.ts';
import type { WalkPage, WalkStep } from './view-store.ts';

/** Walks all payments of the Ledger. Only for commands. A payment that is created meanwhile can be missed. */
export interface LedgerWalk {
  payments(step: WalkStep): Promise<WalkPage<PaymentId>>;
}
