/** The two functions that pure code needs from the platform. Both are deterministic. */
export interface Digest {
  /** Computes SHA-256 (FIPS 180-4) over the UTF-8 bytes of `text`. */
  readonly sha256: (text: string) => Uint8Array;
  /** Returns the canonical form of a JSON value (RFC 8785). */
  readonly canonicalJson: (value: unknown) => string;
}

export const BASE32_ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';

/**
 * Encodes bytes as RFC 4648 base32 in lower case and without padding, which is safe in URLs, header values and key
 * attributes.
 */
export function base32(bytes: Uint8Array): string {
  let text = '';
  let buffer = 0;
  let bits = 0;
  for (const byte of bytes) {
    buffer = (buffer << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += BASE32_ALPHABET[(buffer >> bits) & 31];
    }
    buffer &= (1 << bits) - 1;
  }
  return bits === 0 ? text : text + BASE32_ALPHABET[(buffer << (5 - bits)) & 31];
}

/**
 * Length of an id in bytes: 160 of the hash's 256 bits, encoded as 32 characters. Ids of this length cannot be guessed
 * and do not collide.
 */
const ID_BYTES = 20;

/**
 * Derives the characters of an id from the parts that identify its object. Each folder derives its ids in its `ids.ts`.
 *
 * @param parts hashed as a JSON array, not as joined text, so that different lists of parts never produce the same text
 */
export function derivedCharacters(digest: Digest, parts: readonly string[]): string {
  return base32(digest.sha256(JSON.stringify(parts)).subarray(0, ID_BYTES));
}

/** Not in constant time, so use it only for values that are not secret. */
export function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, index) => byte === right[index]);
}
