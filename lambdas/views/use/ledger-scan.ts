import type { ChainId } from '../../payments/ids.ts';
import type { ScanPage, ScanRequest } from './view-store.ts';

/**
 * Scans all payments and orders in the Ledger, for operators' commands only. May miss objects created during the scan.
 */
export interface LedgerScan {
  chains(step: ScanRequest): Promise<ScanPage<ChainId>>;
}
