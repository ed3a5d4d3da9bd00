import { archiveObject } from '../../lambdas/archive/domain/archive-object.ts';
import type { AuditFinding, Verification } from '../../lambdas/archive/domain/verification.ts';
import { StoredManifests } from '../../lambdas/archive/store/stored-manifests.ts';
import { StoredVerifications } from '../../lambdas/archive/store/stored-verifications.ts';
import type { ReadableArchive } from '../../lambdas/archive/use/read-audit.ts';
import { writeManifests } from '../../lambdas/archive/use/write-manifests.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { MemoryArchive } from './memory-archive.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Three days before the month of NOON_MS. */
export const BEGIN_MS = Date.UTC(2026, 1, 26);
/** This day is a Sunday. */
export const NOON_MS = Date.UTC(2026, 2, 1, 12);
const COUNTS = { rows: 120, lines: 124, chains: 31, objects: 9, manifests: 26 };

export class AuditedArchive implements ReadableArchive {
  readonly bucket = 'payonce-archive-of-shop';
  readonly digest = systemDigest;
  readonly objects: MemoryArchive;
  readonly manifests: StoredManifests;
  readonly verifications: StoredVerifications;

  constructor(objects = new MemoryArchive()) {
    this.objects = objects;
    this.manifests = new StoredManifests(objects);
    this.verifications = new StoredVerifications(objects, objects);
  }

  async lineAt(atMs: number): Promise<void> {
    const line = { change: 'INSERT', atMs, sequence: String(atMs), event: `evt_${atMs}`, item: { pk: { S: 'PAY#' } } };
    await this.objects.put(archiveObject(systemDigest, [line as never]));
  }

  async manifest(atMs: number): Promise<void> {
    await this.lineAt(atMs);
    const clock = new SimulatedClock(atMs + 300_000);
    await writeManifests({ manifests: this.manifests, digest: systemDigest, clock }, clock.nowMs());
  }

  /** Covers the 24 hours that ended two hours before `atMs`. The verification took a minute. */
  verified(atMs: number, change: Partial<Verification> = {}): Promise<void> {
    const times = {
      fromMs: atMs - 2 * HOUR_MS - DAY_MS,
      untilMs: atMs - 2 * HOUR_MS,
      beganMs: atMs,
      endedMs: atMs + 60_000,
    };
    const { verdict = 'holds' } = change;
    const counted = verdict === 'failed' ? {} : { counts: COUNTS };
    return this.verifications.write({ kind: 'day', ...times, verdict, ...counted, found: 0, first: [], ...change });
  }
}

/**
 * The archive ends at noon. The six verifications are of two days, of three slices of the older data, and of one
 * requested period.
 * @param finding a finding of the first night
 */
export async function auditedArchive(
  finding: AuditFinding & Readonly<Record<string, unknown>>,
): Promise<AuditedArchive> {
  const archive = new AuditedArchive();
  for (const atMs of [BEGIN_MS, NOON_MS - 2 * HOUR_MS, NOON_MS - HOUR_MS]) await archive.manifest(atMs);
  const midnightMs = NOON_MS - DAY_MS / 2;
  const nightMs = midnightMs + 2 * HOUR_MS;
  await archive.verified(nightMs - DAY_MS, { verdict: 'differs', found: 1, first: [finding] });
  await archive.verified(nightMs);
  for (let part = 0; part < 3; part += 1) {
    const fromMs = BEGIN_MS + part * DAY_MS;
    await archive.verified(midnightMs + part * HOUR_MS, { kind: 'part', fromMs, untilMs: fromMs + DAY_MS });
  }
  const because = 'AmbiguousError: the archive gave no answer';
  await archive.verified(NOON_MS - HOUR_MS, { kind: 'asked', verdict: 'failed', because });
  return archive;
}
