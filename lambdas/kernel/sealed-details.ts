import type { Digest } from './digest.ts';
import { hex } from './hash-chain.ts';

/**
 * The seal of personal data that is stored in a separate row. The chain contains only a salted commitment to the data,
 * so it still verifies after the row is deleted. Without the salt, a guess of the data cannot be checked against the
 * commitment.
 */
export interface Seal {
  /** Stored in the chain. */
  readonly commitment: Uint8Array;
  /** 128 random bits. Stored in the row only. */
  readonly salt: Uint8Array;
}

export function sealOf(digest: Digest, details: object, salt: Uint8Array): Seal {
  return { commitment: digest.sha256(hex(salt) + digest.canonicalJson(details)), salt };
}
