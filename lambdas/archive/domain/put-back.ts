import { sameBytes } from '../../kernel/digest.ts';
import { type Link, NO_PREDECESSOR } from '../../kernel/hash-chain.ts';
import type { ChainRow } from './chain-row.ts';

/**
 * The possible results of restoring one Ledger row from a source (a restored table or the archive), in order of
 * precedence.
 */
export type PutBack =
  | { readonly kind: 'no_original' }
  /** The Ledger already has the source's row, with the same content. */
  | { readonly kind: 'is_there' }
  /** The source's row is invalid, or its hashes do not match those of an adjacent row. */
  | { readonly kind: 'does_not_fit' }
  | { readonly kind: 'put'; readonly overwritten: ChainRow | undefined };

/**
 * The source's row must be valid and fit into the Ledger's chain: its `prevHash` is the hash of the row before it, and
 * its hash is the `prevHash` of the row after it. An adjacent row that is missing or invalid is not compared; it is
 * restored separately.
 *
 * @param rows the Ledger's rows of the chain
 * @param originals the source's rows of the chain
 */
export function decidePutBack(rows: readonly ChainRow[], originals: readonly ChainRow[], sort: string): PutBack {
  const original = originals.find((row) => row.sort === sort);
  if (original === undefined) return { kind: 'no_original' };
  const overwritten = rows.find((row) => row.sort === sort);
  if (overwritten?.digest === original.digest) return { kind: 'is_there' };
  const link = heldLink(original);
  if (link === undefined) return { kind: 'does_not_fit' };
  const neighbors = rows.flatMap((row) => (row.sort === sort ? [] : (heldLink(row) ?? [])));
  const before = link.sequence === 1 ? NO_PREDECESSOR : at(neighbors, link.sequence - 1)?.hash;
  const after = at(neighbors, link.sequence + 1)?.prevHash;
  const fits =
    (before === undefined || sameBytes(link.prevHash, before)) && (after === undefined || sameBytes(after, link.hash));
  return fits ? { kind: 'put', overwritten } : { kind: 'does_not_fit' };
}

function heldLink({ content }: ChainRow): Link | undefined {
  return content.kind === 'link' && content.holds && content.differing.length === 0 ? content.link : undefined;
}

function at(links: readonly Link[], sequence: number): Link | undefined {
  return links.find((link) => link.sequence === sequence);
}
