import type { Clock } from '../../kernel/world.ts';
import { positionAt, type RecentOutcomes, timeOf } from '../../payments/use/transition-reader.ts';
import { LINES_PREFIX } from '../domain/archive-object.ts';
import type { Bounds } from '../domain/judge-chain.ts';
import { hourOfName, MANIFESTS_PREFIX } from '../domain/manifest.ts';
import type { AuditCounts, AuditFinding, Slice, Verification } from '../domain/verification.ts';
import type { LedgerRows } from './ledger-rows.ts';
import type { Verifications } from './verifications.ts';
import { isFirst, type VerifyManifestsTools, verifyManifests } from './verify-manifests.ts';
import { type ArchiveLines, type RowParts, verifyRows } from './verify-rows.ts';

export interface AuditTools extends VerifyManifestsTools {
  readonly archive: ArchiveLines;
  readonly ledger: (bounds: Bounds) => Promise<LedgerRows>;
  readonly parts: () => RowParts;
  /**
   * Returns the time, in Unix milliseconds, before which every transition must be archived. Needed if transitions are
   * copied to the Ledger some time after they occurred.
   * @default each transition is written to the Ledger when it occurs
   */
  readonly settledMs?: () => Promise<number>;
  readonly bucket: (bounds: Bounds) => Promise<readonly AuditFinding[]>;
}

/**
 * Time within which a row must be archived, in milliseconds. Covers the batching window of at most five minutes and the
 * processing of a batch.
 */
export const ARCHIVED_WITHIN_MS = 30 * 60_000;

export async function auditBetween(
  tools: AuditTools,
  bounds: Bounds,
  nowMs: number,
): Promise<{ readonly counts: AuditCounts; readonly findings: readonly AuditFinding[]; readonly further: number }> {
  const parts = tools.parts();
  try {
    const { archive } = tools;
    const sources = { archive, ledger: await tools.ledger(bounds), parts, save: () => undefined };
    const archivedUntilMs = Math.min(nowMs - ARCHIVED_WITHIN_MS, (await tools.settledMs?.()) ?? nowMs);
    const { counts, findings, further } = await verifyRows(sources, { bounds, archivedUntilMs });
    const listed = await verifyManifests(tools, bounds, nowMs);
    const found = [...(await tools.bucket(bounds)), ...listed.findings, ...findings];
    const { manifests, objects } = listed;
    return { counts: { ...counts, manifests, objects }, findings: found, further };
  } finally {
    parts.close();
  }
}

/** Maximum number of findings in a verification record. `payonce verify` lists all of them. */
const MAX_NAMED = 20;
const LONGEST_REASON = 500;

export interface RecordTools {
  readonly verifications: Pick<Verifications, 'write'>;
  readonly clock: Pick<Clock, 'nowMs'>;
  /**
   * Reports the result of a verification before it is recorded, so that the alarm does not depend on the record. Not
   * called for a failed verification.
   */
  readonly report: (verification: Verification) => void;
}

/** @throws the error of a failed verification, after recording the failure */
export async function auditAndRecord(
  tools: AuditTools,
  { verifications, clock, report }: RecordTools,
  { kind, fromMs, untilMs }: Slice,
): Promise<void> {
  const beganMs = clock.nowMs();
  // No row is later than now, so the range ends now at the latest.
  const slice = { kind, fromMs: Math.min(fromMs, beganMs), untilMs: Math.min(untilMs, beganMs) };
  const ended = (result: Pick<Verification, 'verdict' | 'found' | 'first' | 'counts' | 'because'>): Verification => ({
    ...slice,
    beganMs,
    endedMs: clock.nowMs(),
    ...result,
  });
  let verification: Verification;
  try {
    if (slice.untilMs <= slice.fromMs)
      throw new Error('the range is empty: it must begin before its end, and before now');
    const { counts, findings, further } = await auditBetween(tools, slice, beganMs);
    const found = findings.length + further;
    const verdict = found === 0 ? 'holds' : 'differs';
    verification = ended({ verdict, counts, found, first: findings.slice(0, MAX_NAMED) });
  } catch (error) {
    const because = String(error).slice(0, LONGEST_REASON);
    // If storage is unavailable, the verification and this write both fail. Report the first error, which is more
    // specific.
    await verifications.write(ended({ verdict: 'failed', found: 0, first: [], because })).catch(() => undefined);
    throw error;
  }
  report(verification);
  await verifications.write(verification);
}

/**
 * Returns the first hour of the archive, in Unix milliseconds. If the first manifest lists no objects, all objects were
 * added after it, and the result is at most its time.
 *
 * @returns undefined when the archive is empty, 0 when manifests exist but the first one is missing or invalid
 */
export async function firstHourMs(tools: VerifyManifestsTools): Promise<number | undefined> {
  const { manifests } = tools;
  const [[object], [first]] = await Promise.all([
    manifests.objectsAfter(LINES_PREFIX, 1),
    manifests.after(MANIFESTS_PREFIX, 1),
  ]);
  const hour = object === undefined ? undefined : hourOfName(object);
  if (first === undefined) return hour;
  if (first.kind === 'unreadable' || !isFirst(tools, first)) return 0;
  const { objects, atMs } = first.manifest;
  const listed = objects[0] === undefined ? undefined : hourOfName(objects[0].name);
  return Math.min(hour ?? atMs, listed ?? atMs);
}

const HOUR_MS = 60 * 60_000;
/** Tolerated clock difference between the writers and the Stream, in milliseconds. */
const SKEW_MS = 60_000;
/** Number of latest manifests that are searched for the newest line. */
const RECENT = 3;

/**
 * Returns whether the archiver has stopped despite traffic. It has stopped if an outcome is between one and two hours
 * old, and the oldest of these outcomes is newer than all lines in the latest manifests. The archiver's own metrics do
 * not show this, because a disabled event source mapping emits none.
 */
export async function isStopped(
  { manifests, settledMs }: Pick<AuditTools, 'manifests' | 'settledMs'>,
  outcomes: RecentOutcomes,
  nowMs: number,
): Promise<boolean> {
  const fromMs = nowMs - 2 * HOUR_MS;
  const untilMs = Math.min(nowMs - HOUR_MS, (await settledMs?.()) ?? nowMs);
  if (untilMs <= fromMs) return false;
  const page = await outcomes.outcomesAfter(positionAt(fromMs), untilMs, 1);
  const [outcome] = page.outcomes;
  if (outcome === undefined) return false;
  const newest = await manifests.newest();
  if (newest?.kind !== 'read') return true;
  let archivedMs = 0;
  for (let number = newest.manifest.number; number > Math.max(0, newest.manifest.number - RECENT); number -= 1) {
    const read = await manifests.read(number);
    const objects = read?.kind === 'read' ? read.manifest.objects : [];
    archivedMs = objects.reduce((latest, { last }) => Math.max(latest, last?.atMs ?? 0), archivedMs);
  }
  return archivedMs + SKEW_MS < timeOf(outcome.position);
}
