import { LedgerRow } from '../../kernel/contract/rows.ts';
import { type ChainId, isOrderId } from '../../payments/ids.ts';
import type { ChainRow } from '../domain/chain-row.ts';
import { type Bounds, timeOf } from '../domain/judge-chain.ts';

export interface ReadRow {
  readonly row: ChainRow;
  readonly item: Readonly<Record<string, unknown>>;
}

export interface RowPage {
  readonly rows: readonly ReadRow[];
  /** Absent on the last page. */
  readonly next?: string;
}

/** Use only for verification and restores. */
export interface LedgerRows {
  /** In any order. Rows written during the read may be missing. */
  page(after: string | undefined): Promise<RowPage>;
  /** With strong consistency. */
  chain(chain: string, after: string | undefined): Promise<RowPage>;
}

export function partitionOfChain(id: ChainId): string {
  return `${isOrderId(id) ? LedgerRow.order : LedgerRow.payment}${id}`;
}

export async function wholeChain(ledger: Pick<LedgerRows, 'chain'>, chain: string): Promise<readonly ReadRow[]> {
  const found: ReadRow[] = [];
  let after: string | undefined;
  do {
    const { rows, next } = await ledger.chain(chain, after);
    found.push(...rows);
    after = next;
  } while (after !== undefined);
  return found;
}

/**
 * Returns the time range of one chain within the given bounds, so that archive objects from before the chain's first
 * row need not be read. If the first rows were removed, the chain is reported as broken in any case.
 */
export async function boundsOfChain(ledger: LedgerRows, chain: string, given: Bounds): Promise<Bounds> {
  const { fromMs } = timeOf((await wholeChain(ledger, chain)).map(({ row }) => row));
  return { ...given, fromMs: Math.max(given.fromMs, fromMs) };
}
