import { beforeAll, describe, expect, test } from '@jest/globals';
import { slicesOf } from '../../lambdas/archive/domain/audit-slices.ts';
import { manifestName } from '../../lambdas/archive/domain/manifest.ts';
import { archivedLines } from '../../lambdas/archive/store/archived-lines.ts';
import { StoredManifests } from '../../lambdas/archive/store/stored-manifests.ts';
import { archiveLines } from '../../lambdas/archive/use/archive-lines.ts';
import { type AuditTools, auditBetween, firstHourMs, isStopped } from '../../lambdas/archive/use/audit-archive.ts';
import { verifyRows } from '../../lambdas/archive/use/verify-rows.ts';
import { writeManifests } from '../../lambdas/archive/use/write-manifests.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { positionAt, type RecentOutcomes } from '../../lambdas/payments/use/transition-reader.ts';
import { fc } from '../support/properties.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { archiveOfRows, MemoryArchive, streamLine, streamRecord } from './memory-archive.ts';
import { type Fields, ledgerOf, rowFiles, someLedger } from './verify-world.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let rows: readonly Fields[] = [];
let lastMs = 0;
beforeAll(async () => {
  rows = await someLedger();
  lastMs = Math.max(...rows.map(({ occurredAtMs }) => Number(occurredAtMs ?? 0)));
});

async function audit(archive: MemoryArchive, ledger = rows, ageMs = HOUR_MS, more: Partial<AuditTools> = {}) {
  const manifests = new StoredManifests(archive);
  const clock = new SimulatedClock(lastMs + ageMs);
  await writeManifests({ manifests, digest: systemDigest, clock }, clock.nowMs());
  const tools = {
    manifests,
    digest: systemDigest,
    archive: archivedLines(archive),
    ledger: async () => ledgerOf(ledger),
    parts: () => rowFiles(),
    bucket: async () => [],
    ...more,
  };
  const { findings } = await auditBetween(tools, { fromMs: 0, untilMs: lastMs + 1 }, clock.nowMs());
  return findings.map(({ kind }) => kind);
}

describe('the auditor', () => {
  test('reports nothing for an intact archive', async () => {
    expect(await audit(await archiveOfRows(rows, 4))).toEqual([]);
  });

  test('reports a changed row, a row that was not archived, and a removed object', async () => {
    const place = rows.findIndex(({ sk }) => sk === 'T#000002');
    const forged = { ...rows[place], occurredAtMs: 1 };
    expect(await audit(await archiveOfRows(rows, 4), rows.with(place, forged))).toContain('row_differs');
    expect(await audit(await archiveOfRows(rows.toSpliced(place, 1), 4))).toEqual(['not_archived']);
    const archive = await archiveOfRows(rows, 4);
    const [removed = ''] = archive.objects.keys();
    await audit(archive);
    archive.objects.delete(removed);
    expect(await audit(archive)).toContain('object_missing');
  });

  test('does not report a row that may still be on its way to the archive', async () => {
    expect(await audit(await archiveOfRows(rows.slice(0, -1), 4), rows, 60_000)).toEqual([]);
  });

  test('reports a row as not archived only if the copies to the Ledger are complete up to the row’s time', async () => {
    const archive = await archiveOfRows(rows.slice(0, -1), 4);
    const copiedAt = Number(rows.at(-1)?.['occurredAtMs'] ?? lastMs);
    const settled = (untilMs: number) => ({ settledMs: async () => untilMs });
    expect(await audit(archive, rows, HOUR_MS, settled(copiedAt))).toEqual([]);
    expect(await audit(archive, rows, HOUR_MS, settled(lastMs + 1))).toEqual(['not_archived']);
  });

  test.each([5, 30 * 24])(
    'does not report a row that was copied and archived %d hours after its time',
    async (hours) => {
      const late = rows.find(({ sk }) => sk === 'T#000002') ?? {};
      const archive = await archiveOfRows(
        rows.filter((row) => row !== late),
        4,
      );
      const line = { ...streamLine(streamRecord(late, 99)), atMs: lastMs + hours * HOUR_MS };
      const tools = { objects: archive, digest: systemDigest, entropy: { fraction: () => 0.5 }, report: () => {} };
      const clock = new SimulatedClock(line.atMs + 60_000);
      await archiveLines({ ...tools, clock }, [line], clock.nowMs());
      const settled = { settledMs: async () => lastMs + 1 };
      expect(await audit(archive, rows, (hours + 30) * HOUR_MS, settled)).toEqual([]);
      // A verification without access to the Ledger does not report the row as missing, either.
      const parts = rowFiles();
      const bounds = { fromMs: 0, untilMs: lastMs + 1 };
      const sources = { archive: archivedLines(archive), parts, save: () => undefined };
      expect((await verifyRows(sources, { bounds })).findings).toEqual([]);
      parts.close();
    },
  );
});

describe('a stopped archiver', () => {
  const outcomeAt = (atMs: number): RecentOutcomes => ({
    outcomesAfter: async (position, untilMs) => {
      const at = positionAt(atMs);
      const isWithin = at > position && at < positionAt(untilMs);
      return { outcomes: isWithin ? [{ place: {} as never, position: at }] : [], isLast: true };
    },
  });

  test('is detected if an outcome is newer than the archive and more than an hour old', async () => {
    const archive = await archiveOfRows(rows, 4);
    const manifests = new StoredManifests(archive);
    const clock = new SimulatedClock(lastMs + 1_000);
    const stopped = (outcomeMs: number, more: Partial<AuditTools> = {}) =>
      isStopped({ manifests, ...more }, outcomeAt(outcomeMs), clock.nowMs());
    await writeManifests({ manifests, digest: systemDigest, clock }, clock.nowMs());
    clock.advance(2 * HOUR_MS);
    expect(await stopped(lastMs + 30 * 60_000)).toBe(true);
    expect(await stopped(lastMs + 90 * 60_000)).toBe(false);
    // The Ledger is complete only up to an earlier time, so the outcome may be a late copy.
    for (const ago of [0, HOUR_MS])
      expect(await stopped(lastMs + 30 * 60_000, { settledMs: async () => lastMs + 1_000 - ago })).toBe(false);
    clock.advance(-HOUR_MS / 2);
    expect(await stopped(lastMs)).toBe(false);
    archive.objects.delete(manifestName(1));
    expect(await stopped(lastMs)).toBe(true);
  });
});

describe('the verified periods', () => {
  test('include each day in the following night, and in each month the whole archive except the month’s last day', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 40 * 12 }), fc.integer({ min: 1, max: 3_000 * 24 }), (month, ageHours) => {
        const monthMs = Date.UTC(2026, month, 1);
        const firstMs = monthMs - ageHours * HOUR_MS;
        const hours = (Date.UTC(2026, month + 1, 1) - monthMs) / HOUR_MS;
        const covered = [];
        for (let hour = 0; hour < hours; hour += 1)
          covered.push(...slicesOf(monthMs + hour * HOUR_MS + 5 * 60_000, firstMs));
        const days = covered.filter(({ kind }) => kind === 'day');
        const nights = Array.from({ length: hours / 24 }, (_, night) => monthMs + night * DAY_MS);
        expect(days).toEqual(nights.map((untilMs) => ({ kind: 'day', fromMs: untilMs - DAY_MS, untilMs })));
        const sorted = covered.toSorted((one, other) => one.fromMs - other.fromMs);
        let untilMs = firstMs;
        for (const slice of sorted) {
          if (slice.fromMs > untilMs) return false;
          untilMs = Math.max(untilMs, slice.untilMs);
        }
        // The last day of a month is verified in the first night of the next month.
        return untilMs >= monthMs + (hours / 24 - 1) * DAY_MS;
      }),
      { numRuns: 50 },
    );
  });

  test('start at the first listed object, even if it was removed', async () => {
    const archive = await archiveOfRows(rows, 4);
    const manifests = new StoredManifests(archive);
    const beginMs = await firstHourMs({ manifests, digest: systemDigest });
    const clock = new SimulatedClock(lastMs + 1_000);
    await writeManifests({ manifests, digest: systemDigest, clock }, clock.nowMs());
    for (const name of archive.objects.keys()) if (name.startsWith('ledger/')) archive.objects.delete(name);
    expect(await firstHourMs({ manifests, digest: systemDigest })).toBe(beginMs);
    archive.objects.set(manifestName(1), { name: manifestName(1), text: '{}', sha256: new Uint8Array() });
    expect(await firstHourMs({ manifests, digest: systemDigest })).toBe(0);
  });

  test('start no later than the first object, even if it was removed and the first manifest lists no objects', async () => {
    const archive = new MemoryArchive();
    const manifests = new StoredManifests(archive);
    const clock = new SimulatedClock(lastMs - HOUR_MS);
    await writeManifests({ manifests, digest: systemDigest, clock }, clock.nowMs());
    for (const { name, ...object } of (await archiveOfRows(rows, 4)).objects.values())
      await archive.put({ name, ...object });
    clock.advance(HOUR_MS + 1_000);
    await writeManifests({ manifests, digest: systemDigest, clock }, clock.nowMs());
    for (const name of archive.objects.keys()) if (name.startsWith('ledger/')) archive.objects.delete(name);
    expect(await firstHourMs({ manifests, digest: systemDigest })).toBeLessThanOrEqual(lastMs);
  });

  test.each([
    ['was removed', () => undefined],
    ['was moved in time', (text: string) => text.replace(/"at":"2026/, '"at":"2027')],
  ])('start at time zero if the first manifest %s', async (_how, change) => {
    const archive = await archiveOfRows(rows, 4);
    const manifests = new StoredManifests(archive);
    const clock = new SimulatedClock(lastMs + 1_000);
    for (let hour = 0; hour < 3; hour += 1) {
      await writeManifests({ manifests, digest: systemDigest, clock }, clock.nowMs());
      clock.advance(HOUR_MS);
    }
    const first = archive.objects.get(manifestName(1));
    archive.objects.delete(manifestName(1));
    const text = change(first?.text ?? '');
    if (first !== undefined && text !== undefined) archive.objects.set(first.name, { ...first, text });
    expect(await firstHourMs({ manifests, digest: systemDigest })).toBe(0);
  });

  test('start at the first object if there are no manifests', async () => {
    const archive = await archiveOfRows(rows, 4);
    const firstMs = Math.min(...rows.map(({ occurredAtMs }) => Number(occurredAtMs)));
    expect(await firstHourMs({ manifests: new StoredManifests(archive), digest: systemDigest })).toBe(
      Math.floor(firstMs / HOUR_MS) * HOUR_MS,
    );
    expect(slicesOf(Date.UTC(2026, 10, 23, 14, 5), Date.UTC(2026, 10, 23, 10))).toEqual([]);
    expect(slicesOf(Date.UTC(2026, 10, 23, 2, 5), Date.UTC(2026, 10, 20))).toEqual([
      { kind: 'day', fromMs: Date.UTC(2026, 10, 22), untilMs: Date.UTC(2026, 10, 23) },
    ]);
    expect(slicesOf(Date.UTC(2026, 10, 1, 1, 5), Date.UTC(2026, 9, 29))).toEqual([
      { kind: 'part', fromMs: Date.UTC(2026, 9, 30), untilMs: Date.UTC(2026, 9, 31) },
    ]);
  });
});
