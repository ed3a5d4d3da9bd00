import type { Digest } from './digest.ts';
import { sameBytes } from './digest.ts';

/**
 * A digest of the request. Reusing an idempotency key with a different fingerprint is a client error. The fingerprint
 * is stored with its version and compared under that version, so that a deploy that changes the rule does not reject
 * valid retries. A fingerprint lets a reader confirm a guess of the request, so no permanent row stores a fingerprint
 * of personal data.
 */
export interface Fingerprint {
  readonly version: number;
  readonly sha256: Uint8Array;
}

/** The request as the client sent it: parsed, without defaults. */
export interface FingerprintedRequest {
  readonly body: unknown;
  readonly query: Readonly<Record<string, readonly string[]>>;
}

const FINGERPRINT_VERSION = 1;

export type FingerprintComparison = 'same' | 'different' | 'unknown_version';

/** Key order, white space and number format do not matter (RFC 8785). */
export function fingerprintOf(digest: Digest, request: FingerprintedRequest): Fingerprint {
  return {
    version: FINGERPRINT_VERSION,
    sha256: digest.sha256(digest.canonicalJson({ body: request.body, query: request.query })),
  };
}

/**
 * An unknown version means that newer code claimed the idempotency key during a deploy, so only the newer code may
 * decide about the request.
 */
export function compareFingerprints(stored: Fingerprint, mine: Fingerprint): FingerprintComparison {
  if (stored.version !== mine.version) return 'unknown_version';
  return sameBytes(stored.sha256, mine.sha256) ? 'same' : 'different';
}
