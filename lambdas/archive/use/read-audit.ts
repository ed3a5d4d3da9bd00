import type { Digest } from '../../kernel/digest.ts';
import { lastDueMs } from '../domain/audit-slices.ts';
import { MANIFESTS_PREFIX, manifestName, numberOfManifest } from '../domain/manifest.ts';
import { VERIFIED, type VerifiedKind } from '../domain/verification.ts';
import { firstHourMs } from './audit-archive.ts';
import type { Manifests, ReadManifest } from './manifests.ts';
import type { RecordedVerifications, Verifications } from './verifications.ts';
import { MANIFESTS_LATE_MS } from './verify-manifests.ts';

export interface ReadableArchive {
  readonly bucket: string;
  readonly digest: Digest;
  readonly manifests: Manifests;
  readonly verifications: Verifications;
}

export interface LastVerified extends RecordedVerifications {
  readonly kind: VerifiedKind;
  /**
   * Start of the last hour in which a verification was due, in Unix milliseconds. Undefined when none has been due yet.
   */
  readonly dueMs: number | undefined;
  /** True if no verification has finished since the last one was due. */
  readonly isOverdue: boolean;
}

export interface Audit {
  readonly verified: readonly LastVerified[];
  /** Newest first. */
  readonly manifests: readonly (ReadManifest & { readonly number: number })[];
  readonly areManifestsOverdue: boolean;
}

/**
 * Number of newest records to read, by kind: two weeks of daily verifications, one day of hourly ones, and the last
 * five that operators requested. At most as many earlier records with failures or violations are also read.
 */
const MAX: Readonly<Record<VerifiedKind, number>> = { day: 14, part: 24, asked: 5 };
const MANIFESTS = 24;

export async function readAudit({ manifests, digest, verifications }: ReadableArchive, nowMs: number): Promise<Audit> {
  const [newest, [first], firstMs] = await Promise.all([
    manifests.newest(),
    manifests.after(MANIFESTS_PREFIX, 1),
    firstHourMs({ manifests, digest }),
  ]);
  // The first manifest contains the time of the auditor's first run, unless the manifest was changed.
  const sinceMs = first?.kind === 'read' ? first.manifest.atMs : 0;
  const isBegun = firstMs !== undefined && first !== undefined;
  const verified = await Promise.all(
    VERIFIED.map(async (kind): Promise<LastVerified> => {
      const recorded = await verifications.newest(kind, MAX[kind]);
      const dueMs = isBegun ? lastDueMs(kind, nowMs, firstMs, sinceMs) : undefined;
      const endedMs = recorded.verifications[0]?.endedMs ?? 0;
      return { kind, ...recorded, dueMs, isOverdue: dueMs !== undefined && endedMs < dueMs };
    }),
  );
  const lastMs = newest?.kind === 'read' ? newest.manifest.atMs : firstMs;
  const areManifestsOverdue = lastMs !== undefined && lastMs < nowMs - MANIFESTS_LATE_MS;
  return { verified, manifests: await endingWith(manifests, newest), areManifestsOverdue };
}

async function endingWith(manifests: Manifests, newest: ReadManifest | undefined): Promise<Audit['manifests']> {
  const last = newest === undefined ? 0 : (numberOfManifest(newest.object) ?? 0);
  const numbers = Array.from({ length: Math.min(last, MANIFESTS) }, (_, index) => last - index);
  return Promise.all(
    numbers.map(async (number) => {
      const read = await manifests.read(number);
      return { number, ...(read ?? { kind: 'unreadable', object: manifestName(number), because: 'it is missing' }) };
    }),
  );
}
