import { sameBytes } from '../../kernel/digest.ts';
import { type Link, NO_PREDECESSOR } from '../../kernel/hash-chain.ts';
import type { ChainRow } from './chain-row.ts';

/** What can be done about one row of the Ledger, in order of precedence. */
export type PutBack =
  /** The source has no row of this key. */
  | { readonly kind: 'no_original' }
  /** The Ledger has the row as the source has it. */
  | { readonly kind: 'is_there' }
  /** The row of the source does not hold, or a row beside it does not belong to it. */
  | { readonly kind: 'does_not_fit' }
  | { readonly kind: 'put'; readonly overwritten: ChainRow | undefined };

/**
 * Decides whether a row of a source can take the place of the row of the same key in the Ledger: it holds by itself, continues the row
 * before it, and is continued by the row after it. A row beside it that is missing or does not hold is put back by itself.
 *
 * @param rows of the chain in the Ledger
 * @param originals of the chain in the source
 */
export function decidePutBack(rows: readonly ChainRow[], originals: readonly ChainRow[], sort: string): PutBack {
  const original = originals.find((row) => row.sort === sort);
  if (original === undefined) return { kind: 'no_original' };
  const overwritten = rows.find((row) => row.sort === sort);
  if (overwritten?.digest === original.digest) return { kind: 'is_there' };
  const link = heldLink(original);
  if (link === undefined) return { kind: 'does_not_fit' };
  const beside = rows.flatMap((row) => (row.sort === sort ? [] : (heldLink(row) ?? [])));
  const before = link.sequence === 1 ? NO_PREDECESSOR : at(beside, link.sequence - 1)?.hash;
  const after = at(beside, link.sequence + 1)?.prevHash;
  const fits =
    (before === undefined || sameBytes(link.prevHash, before)) && (after === undefined || sameBytes(after, link.hash));
  return fits ? { kind: 'put', overwritten } : { kind: 'does_not_fit' };
}

/** The link of a row that holds by itself. */
function heldLink({ content }: ChainRow): Link | undefined {
  return content.kind === 'link' && content.holds && content.differing.length === 0 ? content.link : undefined;
}

function at(links: readonly Link[], sequence: number): Link | undefined {
  return links.find((link) => link.sequence === sequence);
}
