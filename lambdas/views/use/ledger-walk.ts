import type { ChainId } from '../../payments/ids.ts';
import type { WalkPage, WalkStep } from './view-store.ts';

/**
 * Scans all payments and orders in the Ledger, for operators' commands only. May miss objects created during the scan.
 */
export interface LedgerWalk {
  chains(step: WalkStep): Promise<WalkPage<ChainId>>;
}
