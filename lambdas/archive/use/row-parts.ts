import type { ChainRow } from '../domain/chain-row.ts';
import type { ChainLine } from '../domain/judge-chain.ts';

/** All that was kept of one chain. */
export interface KeptChain {
  readonly chain: string;
  readonly rows: readonly ChainRow[];
  readonly lines: readonly ChainLine[];
}

/**
 * Brings rows that are read in any order together by chain, with bounded memory. A row that is added again counts once, so an
 * interrupted reading can begin a page again.
 */
export interface RowParts {
  /** How many parts the chains are spread over. */
  readonly parts: number;
  addRow(row: ChainRow): void;
  addLine(line: ChainLine): void;
  /** What was added until now survives a crash. */
  save(): void;
  /** The chains of one part. */
  chainsOf(part: number): Iterable<KeptChain>;
  /** Deletes all that was kept. */
  close(): void;
}
