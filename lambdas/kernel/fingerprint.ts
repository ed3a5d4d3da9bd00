import type { Digest } from './digest.ts';
import { sameBytes } from './digest.ts';
import { hex } from './hash-chain.ts';

/**
 * What a request asked for, as a digest: a key used again with another fingerprint is a client's mistake. Stored with
 * its version and compared under that version, so that a deploy that changes the rule breaks no honest retry.
 */
export interface Fingerprint {
  readonly version: number;
  readonly sha256: Uint8Array;
}

/** As it is kept inside a transition, and hashed with it: the digest in hexadecimal. */
export interface PrintedFingerprint {
  readonly version: number;
  readonly sha256: string;
}

export function printed({ version, sha256 }: Fingerprint): PrintedFingerprint {
  return { version, sha256: hex(sha256) };
}

/** What `printed` has made of it, back. */
export function unprinted({ version, sha256 }: PrintedFingerprint): Fingerprint {
  const pairs = sha256.match(/../g) ?? [];
  return { version, sha256: Uint8Array.from(pairs, (pair) => Number.parseInt(pair, 16)) };
}

/** The request as it was sent: parsed, before any default was added. */
export interface FingerprintedRequest {
  readonly body: unknown;
  readonly query: Readonly<Record<string, readonly string[]>>;
}

const FINGERPRINT_VERSION = 1;

export type FingerprintComparison = 'same' | 'different' | 'unknown_version';

/** SHA-256 over the canonical form (RFC 8785) of body and query: key order, white space and number form do not count. */
export function fingerprintOf(digest: Digest, request: FingerprintedRequest): Fingerprint {
  return {
    version: FINGERPRINT_VERSION,
    sha256: digest.sha256(digest.canonicalJson({ body: request.body, query: request.query })),
  };
}

/** A version that this code does not know was written by newer code during a deploy: it decides, not we. */
export function compareFingerprints(stored: Fingerprint, mine: Fingerprint): FingerprintComparison {
  if (stored.version !== mine.version) return 'unknown_version';
  return sameBytes(stored.sha256, mine.sha256) ? 'same' : 'different';
}
