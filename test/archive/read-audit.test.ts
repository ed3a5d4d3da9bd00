import { beforeAll, describe, expect, test } from '@jest/globals';
import { lastDueMs } from '../../lambdas/archive/domain/audit-slices.ts';
import { manifestName } from '../../lambdas/archive/domain/manifest.ts';
import {
  VERIFICATIONS_PREFIX,
  type Verification,
  verificationObject,
} from '../../lambdas/archive/domain/verification.ts';
import { archivedLines } from '../../lambdas/archive/store/archived-lines.ts';
import { type AuditTools, auditAndRecord } from '../../lambdas/archive/use/audit-archive.ts';
import { readAudit } from '../../lambdas/archive/use/read-audit.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { Api } from '../world/api.ts';
import { AuditedArchive, auditedArchive, BEGIN_MS, NOON_MS } from './audited-archive.ts';
import { archiveOfRows } from './memory-archive.ts';
import { type Fields, ledgerOf, rowFiles, someLedger } from './verify-world.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MIDNIGHT_MS = NOON_MS - DAY_MS / 2;
const FINDING = { kind: 'row_missing', chain: 'PAY#pay_1', sort: 'T#000002' };

describe('the record of a verification', () => {
  let rows: readonly Fields[] = [];
  let nowMs = 0;
  beforeAll(async () => {
    rows = await someLedger();
    nowMs = Math.max(...rows.map(({ occurredAtMs }) => Number(occurredAtMs ?? 0))) + HOUR_MS;
  });

  async function verified(
    ledger: readonly Fields[],
    change: Partial<AuditTools> = {},
    lost?: { readonly write: () => Promise<void> },
    range = { fromMs: 0, untilMs: Number.MAX_SAFE_INTEGER },
  ) {
    const objects = await archiveOfRows(rows, 4);
    const audited = new AuditedArchive(objects);
    const verifications = lost ?? audited.verifications;
    const tools: AuditTools = {
      manifests: audited.manifests,
      digest: systemDigest,
      archive: archivedLines(objects),
      ledger: async () => ledgerOf(ledger),
      parts: () => rowFiles(),
      bucket: async () => [],
      ...change,
    };
    const slice = { kind: 'asked', ...range } as const;
    const reported: Verification[] = [];
    const recording = {
      verifications,
      clock: new SimulatedClock(nowMs),
      report: (verification: Verification) => void reported.push(verification),
    };
    const error = await auditAndRecord(tools, recording, slice).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    const [recorded, ...more] = (await audited.verifications.newest('asked', 10)).verifications;
    expect(more).toEqual([]);
    return { recorded, reported, error };
  }

  test('states the verified period, the number of rows and the positive verdict', async () => {
    const { recorded, reported, error } = await verified(rows);
    expect([error, reported]).toEqual([undefined, [recorded]]);
    expect(recorded).toMatchObject({
      kind: 'asked',
      fromMs: 0,
      untilMs: nowMs,
      endedMs: nowMs,
      verdict: 'holds',
      counts: { rows: rows.length, lines: rows.length },
      found: 0,
      first: [],
    });
  });

  test('states the number of findings, and the first twenty of them', async () => {
    const { recorded } = await verified(rows.slice(1));
    expect(recorded).toMatchObject({ verdict: 'differs', found: recorded?.first.length });
    expect(recorded?.first).toContainEqual(expect.objectContaining({ kind: 'row_missing' }));
    const kinds = Array.from({ length: 30 }, (_, index) => ({ kind: `k${index}` }));
    const { recorded: many } = await verified(rows, { bucket: async () => kinds });
    expect(many).toMatchObject({ found: 30, first: kinds.slice(0, 20) });
  });

  test.each([
    ['ends before it begins', { fromMs: 2, untilMs: 1 }],
    ['has not begun', { fromMs: Number.MAX_SAFE_INTEGER - 1, untilMs: Number.MAX_SAFE_INTEGER }],
  ])('states that the verification failed if its range %s', async (_what, range) => {
    const { recorded, reported } = await verified(rows, {}, undefined, range);
    expect(reported).toEqual([]);
    expect(recorded).toMatchObject({ verdict: 'failed', because: expect.stringContaining('the range is empty') });
  });

  test('states why a run failed; the error is rethrown so that the run is retried', async () => {
    const away = new Error('S3 is away');
    const bucket = () => Promise.reject(away);
    const { recorded, reported, error } = await verified(rows, { bucket });
    expect([error, reported]).toEqual([away, []]);
    expect(recorded).toMatchObject({ verdict: 'failed', because: 'Error: S3 is away', found: 0, first: [] });
    expect(recorded?.counts).toBeUndefined();
    const noRecord = { write: () => Promise.reject(new Error('no record')) };
    expect(await verified(rows, { bucket }, noRecord)).toMatchObject({ recorded: undefined, error: away });
  });

  test('fails the run if it cannot be written, so that the run is retried; findings are still reported', async () => {
    const lost = new Error('no record');
    const { reported, error } = await verified(rows.slice(1), {}, { write: () => Promise.reject(lost) });
    expect(error).toBe(lost);
    expect(reported).toMatchObject([{ verdict: 'differs' }]);
  });

  test('is written once if a run is repeated with the same result; a different result does not overwrite it', async () => {
    const archive = new AuditedArchive();
    for (let time = 0; time < 2; time += 1) await archive.verified(NOON_MS);
    await archive.verified(NOON_MS, { verdict: 'differs', found: 1, first: [FINDING] });
    await archive.verified(NOON_MS + 1);
    const { verifications } = await archive.verifications.newest('day', 10);
    expect(verifications.map(({ beganMs, found }) => [beganMs - NOON_MS, found])).toEqual([
      [1, 0],
      [0, 1],
      [0, 0],
    ]);
  });
});

describe('the latest verifications', () => {
  const dayOf = async (archive: AuditedArchive, nowMs = NOON_MS) => {
    const { verified } = await readAudit(archive, nowMs);
    return verified.find(({ kind }) => kind === 'day');
  };

  test('are listed by kind, newest first, with the time at which a verification of each kind was last due', async () => {
    const { verified, areManifestsOverdue } = await readAudit(await auditedArchive(FINDING), NOON_MS);
    const reported = verified.map(({ verifications, ...kind }) => ({
      ...kind,
      of: verifications.map((each) => each.verdict),
    }));
    expect(reported).toEqual([
      { kind: 'day', dueMs: MIDNIGHT_MS + 2 * HOUR_MS, isOverdue: false, unreadable: 0, of: ['holds', 'differs'] },
      {
        kind: 'part',
        dueMs: MIDNIGHT_MS + 2 * HOUR_MS,
        isOverdue: false,
        unreadable: 0,
        of: ['holds', 'holds', 'holds'],
      },
      { kind: 'asked', dueMs: undefined, isOverdue: false, unreadable: 0, of: ['failed'] },
    ]);
    expect(areManifestsOverdue).toBe(false);
  });

  test('are overdue if no verification has completed since one was due', async () => {
    const archive = await auditedArchive(FINDING);
    expect(await dayOf(archive, NOON_MS + 14 * HOUR_MS)).toMatchObject({ isOverdue: false });
    // The run that is due at 02:00 can be retried until 03:00.
    expect(await dayOf(archive, MIDNIGHT_MS + DAY_MS + 3 * HOUR_MS - 1)).toMatchObject({ isOverdue: false });
    expect(await dayOf(archive, MIDNIGHT_MS + DAY_MS + 3 * HOUR_MS)).toMatchObject({ isOverdue: true });
    expect(await readAudit(archive, NOON_MS + 3 * HOUR_MS)).toMatchObject({ areManifestsOverdue: true });
  });

  test('are overdue when the first verification is missing a day after the start of the archive, but not an hour after it, and not in an empty archive', async () => {
    const archive = new AuditedArchive();
    expect(await readAudit(archive, NOON_MS)).toMatchObject({ manifests: [], areManifestsOverdue: false });
    await archive.manifest(NOON_MS);
    const none = { verifications: [], dueMs: undefined, isOverdue: false };
    expect(await dayOf(archive, NOON_MS + HOUR_MS)).toMatchObject(none);
    expect(await dayOf(archive, NOON_MS + DAY_MS)).toMatchObject({ verifications: [], isOverdue: true });
  });

  test('include a verification with findings, even after many newer verifications without findings', async () => {
    const archive = new AuditedArchive();
    await archive.verified(NOON_MS, { kind: 'part', verdict: 'differs', found: 1, first: [FINDING] });
    for (let hour = 1; hour < 60; hour += 1) await archive.verified(NOON_MS + hour * HOUR_MS, { kind: 'part' });
    const { verifications } = await archive.verifications.newest('part', 24);
    expect(verifications).toHaveLength(25);
    expect(verifications.at(-1)).toMatchObject({ first: [FINDING] });
  });

  test("include only the auditor's records; other objects under the prefix of these records are counted as unreadable", async () => {
    const archive = await auditedArchive(FINDING);
    const held: Verification = {
      kind: 'day',
      fromMs: 0,
      untilMs: 1,
      beganMs: NOON_MS,
      endedMs: NOON_MS,
      verdict: 'holds',
      found: 0,
      first: [],
    };
    const object = verificationObject(systemDigest, held);
    await archive.objects.put({ ...object, text: object.text.replace('"found":0', '"found":1') });
    await archive.objects.put({ ...object, name: `${VERIFICATIONS_PREFIX}day/0.json` });
    const older = verificationObject(systemDigest, { ...held, endedMs: BEGIN_MS });
    await archive.objects.put({ ...older, name: older.name.replace(/\d{13}/, '0000000000000') });
    expect(await dayOf(archive)).toMatchObject({ unreadable: 3, verifications: [{ verdict: 'holds' }, { found: 1 }] });
  });

  test('of data before the current month are due at the start of each month, except the month in which the archive began', () => {
    const due = (nowMs: number) => lastDueMs('part', nowMs, BEGIN_MS, BEGIN_MS);
    expect(due(BEGIN_MS + DAY_MS)).toBeUndefined();
    expect([3, 20 * 24].map((hours) => due(MIDNIGHT_MS + hours * HOUR_MS))).toEqual(
      [2, 2].map((hours) => MIDNIGHT_MS + hours * HOUR_MS),
    );
  });
});

describe('the newest manifests', () => {
  test('are read with the objects that they list; manifests that are missing or were changed are reported', async () => {
    const archive = await auditedArchive(FINDING);
    for (let hour = 0; hour < 30; hour += 1) await archive.manifest(NOON_MS + hour * HOUR_MS);
    const second = manifestName(32);
    const object = archive.objects.objects.get(second);
    archive.objects.objects.delete(manifestName(31));
    archive.objects.objects.set(second, { ...object, text: '{}' } as never);
    const { manifests } = await readAudit(archive, NOON_MS + 30 * HOUR_MS);
    expect(manifests.map(({ number }) => number)).toEqual(Array.from({ length: 24 }, (_, index) => 33 - index));
    expect(manifests.slice(0, 3)).toMatchObject([
      { kind: 'read', manifest: { objects: [{ lines: 1 }] } },
      { kind: 'unreadable' },
      { kind: 'unreadable', because: 'it is missing' },
    ]);
  });

  test('are found with few requests', async () => {
    const archive = new AuditedArchive();
    for (let number = 1; number < 500; number += 1) {
      const name = manifestName(number);
      archive.objects.objects.set(name, { name, text: '{}', sha256: new Uint8Array() });
    }
    for (let last = 499; last > 480; last -= 1) {
      archive.objects.asked.length = 0;
      expect(await archive.manifests.newest()).toMatchObject({ object: manifestName(last) });
      expect(archive.objects.asked.length).toBeLessThan(22);
      archive.objects.objects.delete(manifestName(last));
    }
  });
});

test('GET /v1/admin/audit shows that there is no archive, or that an empty archive has no verifications', async () => {
  const off = await new Api().get('/v1/admin/audit');
  expect(off.body).toMatchObject({ archive: null, verified: [], manifests: [], manifests_overdue: false });
  const empty = await new Api({ archive: new AuditedArchive() }).get('/v1/admin/audit');
  const none = { due: null, overdue: false, verifications: [] };
  expect(empty.body).toMatchObject({ archive: 'payonce-archive-of-shop', verified: [none, none, none] });
  expect((await new Api().get('/v1/admin/audit?limit=1')).status).toBe(400);
});
