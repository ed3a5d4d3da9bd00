import type { Digest } from '../../kernel/digest.ts';
import { hex } from '../../kernel/hash-chain.ts';
import type { ArchiveObject } from './archive-object.ts';
import type { Bounds } from './judge-chain.ts';

/** Prefix of all records of verifications. */
export const VERIFICATIONS_PREFIX = 'verifications/';

/** The version of the format. */
export const VERIFICATION_VERSION = 1;

/**
 * Kinds of verification: a day in the night after it, a part of everything before the month, or a time range requested
 * by an operator.
 */
export const VERIFIED = ['day', 'part', 'asked'] as const;
export type VerifiedKind = (typeof VERIFIED)[number];

/** A time range to verify. */
export interface Slice extends Bounds {
  readonly kind: VerifiedKind;
}

/** A violation, with the fields of its kind. */
export type AuditFinding = { readonly kind: string };

export interface AuditCounts {
  readonly rows: number;
  readonly lines: number;
  readonly chains: number;
  readonly objects: number;
  readonly manifests: number;
}

/** One verification that has ended. Times in Unix milliseconds. */
export interface Verification extends Slice {
  readonly beganMs: number;
  readonly endedMs: number;
  readonly verdict: 'holds' | 'differs' | 'failed';
  /** Absent when it failed. */
  readonly counts?: AuditCounts;
  /** Number of findings. */
  readonly found: number;
  /** The first of them. */
  readonly first: readonly AuditFinding[];
  /** The reason of the failure. */
  readonly because?: string;
}

/** Later than the time of any verification: the last time with 13 digits, in the year 2286. Unix milliseconds. */
const LAST_MS = 9_999_999_999_999;

/** Whether the name of a record says that the verification found no violation, so that readers need not open it. */
export function isNamedAsHolding(name: string): boolean {
  return name.includes('-holds-');
}

/**
 * The name of a record. S3 lists names in ascending order only, so it begins with the time remaining until the year
 * 2286, which puts the newest first. It contains the SHA-256 of the content, so that two runs for the same time do not
 * overwrite each other.
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
