import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import { type ActivityChain, nameOfChain } from '../activity/domain/activity.ts';
import { AUDITOR_SERVICE, AUDITOR_WORKS_SECONDS } from '../archive/contract.ts';
import { slicesOf } from '../archive/domain/audit-slices.ts';
import { judgeBucket } from '../archive/domain/judge-bucket.ts';
import type { Slice, Verification } from '../archive/domain/verification.ts';
import { readAuditorConfig } from '../archive/settings.ts';
import { archivedLines } from '../archive/store/archived-lines.ts';
import { DynamoDbLedgerRows } from '../archive/store/dynamodb-ledger-rows.ts';
import { kmsClient, kmsSigner } from '../archive/store/kms-signer.ts';
import { objectsWithSeveralVersions, readBucket } from '../archive/store/read-bucket.ts';
import { RowFiles } from '../archive/store/row-files.ts';
import { S3Archive } from '../archive/store/s3-archive.ts';
import { S3Objects } from '../archive/store/s3-objects.ts';
import { StoredManifests } from '../archive/store/stored-manifests.ts';
import { StoredVerifications } from '../archive/store/stored-verifications.ts';
import { type AuditTools, auditAndRecord, firstHourMs, isStopped } from '../archive/use/audit-archive.ts';
import { rowsBetween } from '../archive/use/rows-between.ts';
import { writeManifests } from '../archive/use/write-manifests.ts';
import { readAuthority } from '../jobs/settings.ts';
import { DynamoDbJobMarks } from '../jobs/store/dynamodb-job-marks.ts';
import { readCarriedUntil } from '../jobs/use/carried-until.ts';
import { LedgerRow } from '../kernel/contract/rows.ts';
import { s3Client } from '../kernel/platform/s3.ts';
import { type Buckets, type Keys, type Platform, systemPlatform } from '../kernel/platform/system-platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { idempotently } from '../once/idempotently.ts';
import type { OperationRunner } from '../once/use/operation-runner.ts';
import { LedgerChains } from '../orders/store/ledger-chains.ts';
import { DynamoDbOwners } from '../tenants/store/tenant-owners.ts';

/** An operator's request to verify this time range, in Unix milliseconds, instead of the ranges that are due. */
const request = z.object({ fromMs: z.int().min(0), untilMs: z.int().min(0) });

/** The retry of a failed run finds the manifest that the run wrote, and repeats the verification. */
export const handler = idempotently(
  { unit: 'the manifest of an hour', record: 'the manifest object in the archive, named after its number' },
  (runner) => wire({ ...systemPlatform(), s3: s3Client, kms: kmsClient }, runner),
);

export function wire(platform: Platform & Buckets & Keys, _runner: OperationRunner) {
  const { clock, digest, variables } = platform;
  const { bucket, signingKey, tables } = readAuditorConfig(variables);
  const telemetry = standardTelemetry(AUDITOR_SERVICE, platform.instruments);
  const s3 = platform.s3();
  const [writer, reader] = [new S3Archive(s3, bucket), new S3Objects(s3, bucket)];
  const manifests = new StoredManifests({
    put: (object) => writer.put(object),
    names: (...of) => reader.names(...of),
    text: (name) => reader.text(name),
  });
  const sign = signingKey === undefined ? undefined : kmsSigner(platform.kms(), signingKey);
  const outcomes = new LedgerChains(platform.documents, tables, platform);
  const marks = new DynamoDbJobMarks(platform.documents, tables.registry, platform);
  const tools: AuditTools = {
    manifests,
    digest,
    archive: archivedLines(reader),
    ledger: ledgerOf(platform, tables, outcomes),
    parts: () => new RowFiles(mkdtempSync(join(tmpdir(), 'audit-'))),
    ...(readAuthority(variables) === 'postgres'
      ? { settledMs: async () => (await readCarriedUntil(marks))?.settledMs ?? 0 }
      : {}),
    bucket: async (bounds) => [
      ...judgeBucket(bucket, await readBucket(s3, bucket)),
      ...(await objectsWithSeveralVersions(s3, bucket, bounds)),
    ],
  };

  const report = ({ kind, fromMs, untilMs, counts, found, first }: Verification): void => {
    const named = first.slice(0, MAX_LOGGED).map((finding) => JSON.stringify(finding));
    const details = { kind, fromMs, untilMs, lines: counts?.lines ?? 0, found, first: named.join('\n') };
    telemetry.run('audited', found === 0 ? {} : { archive_differs: found }, details);
  };
  const recording = { verifications: new StoredVerifications(reader, writer), clock, report };
  const audit = (slice: Slice): Promise<void> => auditAndRecord(tools, recording, slice);

  return async (event: unknown): Promise<void> => {
    const asked = request.safeParse(event);
    if (asked.success) return audit({ kind: 'asked', ...asked.data });
    const nowMs = clock.nowMs();
    const errors: unknown[] = [];
    /** If the step fails, the other steps still run. */
    const attempt = (step: Promise<void>): Promise<unknown> => step.catch((error) => errors.push(error));
    await attempt(list(nowMs));
    const verify = async (): Promise<void> => {
      const firstMs = await firstHourMs(tools);
      for (const slice of firstMs === undefined ? [] : slicesOf(nowMs, firstMs)) await attempt(audit(slice));
    };
    await attempt(verify());
    if (errors.length > 0) throw errors[0];
  };

  async function list(nowMs: number): Promise<void> {
    const written = await writeManifests({ manifests, digest, clock, sign }, nowMs + AUDITOR_WORKS_SECONDS * 1_000);
    const objects = written.reduce((sum, each) => sum + each.objects.length, 0);
    const newest = await manifests.newest();
    const isWhole = newest?.kind === 'read' && !newest.manifest.isPart;
    const stopped = await isStopped(tools, outcomes, nowMs);
    const counts = { ...(isWhole ? { archive_listed: 1 } : {}), ...(stopped ? { archive_stopped: 1 } : {}) };
    telemetry.run('listed', counts, { manifests: written.length, objects });
  }
}

/** Maximum number of findings in a log line. `payonce verify` lists all of them. */
const MAX_LOGGED = 5;
const OWNERS_AT_ONCE = 100;
const DEPLOYMENT_CHAINS: readonly ActivityChain[] = ['deployment', 'settings', 'imports'];

function ledgerOf(
  { documents, ...pacing }: Platform,
  tables: { readonly ledger: string; readonly registry: string },
  outcomes: LedgerChains,
): AuditTools['ledger'] {
  const rows = new DynamoDbLedgerRows(documents, tables.ledger, pacing);
  const owners = new DynamoDbOwners(documents, tables.registry, pacing);
  return async (bounds) => {
    const chains: ActivityChain[] = [...DEPLOYMENT_CHAINS];
    for (let after: string | undefined, isMore = true; isMore; ) {
      const page = await owners.list(after, OWNERS_AT_ONCE);
      chains.push(...page.map(({ owner }) => owner));
      after = page.at(-1)?.name;
      isMore = page.length === OWNERS_AT_ONCE;
    }
    const activity = chains.map((chain) => `${LedgerRow.activity}${nameOfChain(chain)}`);
    return rowsBetween(rows, outcomes, bounds, activity);
  };
}
