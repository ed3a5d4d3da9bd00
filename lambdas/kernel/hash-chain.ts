import type { Digest } from './digest.ts';
import { sameBytes } from './digest.ts';

/* The hash chain of append-only rows. Each hash covers the previous hash, so that any change is detected. */

export const NO_PREDECESSOR: Uint8Array = new Uint8Array(32);

export function linkHash(digest: Digest, content: Readonly<Record<string, unknown>>, prevHash: Uint8Array): Uint8Array {
  return digest.sha256(digest.canonicalJson({ ...content, prevHash: hex(prevHash) }));
}

export interface Link {
  /** 1 for the first link. */
  readonly sequence: number;
  readonly prevHash: Uint8Array;
  readonly hash: Uint8Array;
}

/**
 * @param links oldest first
 * @param before the link that precedes `links` @default none: `links` begin the chain
 * @returns the sequence of the first link whose number, predecessor or hash is wrong; undefined when all links are
 * valid
 */
export function brokenLink<L extends Link>(
  links: readonly L[],
  hashOf: (link: L) => Uint8Array,
  before?: Link,
): number | undefined {
  let { sequence, hash: previous } = before ?? { sequence: 0, hash: NO_PREDECESSOR };
  for (const link of links) {
    sequence += 1;
    const holds =
      link.sequence === sequence && sameBytes(link.prevHash, previous) && sameBytes(link.hash, hashOf(link));
    if (!holds) return sequence;
    previous = link.hash;
  }
  return undefined;
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

export function hex(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += HEX[byte];
  return text;
}
