import { sameBytes } from '../../kernel/digest.ts';
import { type Link, NO_PREDECESSOR } from '../../kernel/hash-chain.ts';

/** A row of a chain, from the Ledger or from the archive, with the fields that verification needs. */
export interface ChainRow {
  /** The partition of the chain, for example `PAY#pay_…`. */
  readonly chain: string;
  /** The sort key, for example `T#000001`. */
  readonly sort: string;
  /** Digest of the content. Two rows have the same content if and only if their digests are equal. */
  readonly digest: string;
  readonly content: RowContent;
}

type RowContent =
  | {
      readonly kind: 'link';
      readonly link: Link;
      readonly occurredAtMs: number;
      /** Whether the hash matches the row's content and `prevHash`. */
      readonly holds: boolean;
      /**
       * Sorted names of the attributes outside the hash, for example index keys, whose values differ from those that
       * the content implies.
       */
      readonly differing: readonly string[];
    }
  | {
      readonly kind: 'unreadable';
      readonly because: string;
    };

export type BrokenLink =
  | {
      readonly what: 'missing';
      /** The sequence of the next row that exists. */
      readonly next: number;
    }
  /** The content does not match the hash, or the sequence number is too low for the row's position. */
  | { readonly what: 'changed' }
  /** The row itself is valid but does not continue the previous row, so one of the two was replaced. */
  | { readonly what: 'unlinked' }
  /** Attributes outside the hash differ from the values that the content implies. */
  | { readonly what: 'attributes'; readonly names: readonly string[] }
  | { readonly what: 'unreadable'; readonly because: string };

/** @param before the sequence and hash of the previous row; undefined for the first row of a chain */
export function violationAt({ content }: ChainRow, before: Link | undefined): BrokenLink | undefined {
  if (content.kind === 'unreadable') return { what: 'unreadable', because: content.because };
  const { link, holds, differing } = content;
  const sequence = (before?.sequence ?? 0) + 1;
  if (link.sequence > sequence) return { what: 'missing', next: link.sequence };
  if (!holds || link.sequence < sequence) return { what: 'changed' };
  if (!sameBytes(link.prevHash, before?.hash ?? NO_PREDECESSOR)) return { what: 'unlinked' };
  return differing.length === 0 ? undefined : { what: 'attributes', names: differing };
}
