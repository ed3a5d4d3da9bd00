import type { Digest } from '../../kernel/digest.ts';
import { hex } from '../../kernel/hash-chain.ts';
import type { ArchiveObject } from './archive-object.ts';
import type { Bounds } from './judge-chain.ts';

/**
 * Prefix of all verification records. The records are stored in the archive, whose object lock protects them. In a
 * table, anyone with write access could replace them.
 */
export const VERIFICATIONS_PREFIX = 'verifications/';

export const VERIFICATION_VERSION = 1;

/**
 * `day`: one day, verified in the following night. `part`: one slice of the rows from before the current month.
 * `asked`: a time range that an operator requested.
 */
export const VERIFIED = ['day', 'part', 'asked'] as const;
export type VerifiedKind = (typeof VERIFIED)[number];

export interface Slice extends Bounds {
  readonly kind: VerifiedKind;
}

/** Has further fields, which depend on `kind`. */
export type AuditFinding = { readonly kind: string };

export interface AuditCounts {
  readonly rows: number;
  readonly lines: number;
  readonly chains: number;
  readonly objects: number;
  readonly manifests: number;
}

export interface Verification extends Slice {
  readonly beganMs: number;
  readonly endedMs: number;
  readonly verdict: 'holds' | 'differs' | 'failed';
  /** Absent when the verification failed. */
  readonly counts?: AuditCounts;
  /** Number of findings. */
  readonly found: number;
  readonly first: readonly AuditFinding[];
  readonly because?: string;
}

/** A time later than any verification: the largest Unix time with 13 digits, in milliseconds (year 2286). */
const LAST_MS = 9_999_999_999_999;

export function hasNoFindings(name: string): boolean {
  return name.includes('-holds-');
}

/**
 * S3 lists keys in ascending order only, so the key begins with the time remaining until the year 2286, which sorts the
 * newest record first. The key also contains the SHA-256 of the content, so that two verifications that end in the same
 * millisecond have different keys.
 */
export function verificationName({ kind, endedMs, verdict }: Verification, sha256: Uint8Array): string {
  const left = String(LAST_MS - endedMs).padStart(13, '0');
  return `${VERIFICATIONS_PREFIX}${kind}/${left}-${verdict}-${hex(sha256)}.json`;
}

export function verificationObject(digest: Digest, verification: Verification): ArchiveObject {
  const text = `${JSON.stringify({ v: VERIFICATION_VERSION, ...verification })}\n`;
  const sha256 = digest.sha256(text);
  return { name: verificationName(verification, sha256), text, sha256 };
}
