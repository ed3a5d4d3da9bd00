import type { ChainId } from '../../payments/ids.ts';
import type { WalkPage, WalkStep } from './view-store.ts';

/**
 * Walks all payments and orders of the Ledger, for operators' commands only. May miss objects created during the walk.
 */
export interface LedgerWalk {
  chains(step: WalkStep): Promise<WalkPage<ChainId>>;
}
