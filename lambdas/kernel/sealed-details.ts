import type { Digest } from './digest.ts';
import { hex } from './hash-chain.ts';

/**
 * Personal data is in a row of its own. A chain holds only a salted commitment to it, so that the row can be deleted and the
 * chain still verifies. Without the salt, the commitment does not tell a guess of the data from another.
 */
export interface Seal {
  /** SHA-256 over the salt and the canonical form of the data. In the chain. */
  readonly commitment: Uint8Array;
  /** 128 random bits. Only in the row. */
  readonly salt: Uint8Array;
}

export function sealOf(digest: Digest, details: object, salt: Uint8Array): Seal {
  return { commitment: digest.sha256(hex(salt) + digest.canonicalJson(details)), salt };
}
