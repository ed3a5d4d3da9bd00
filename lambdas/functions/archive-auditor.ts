import { AUDITOR_WORKS_SECONDS } from '../archive/contract.ts';
import { readAuditorConfig } from '../archive/settings.ts';
import { kmsClient, kmsSigner } from '../archive/store/kms-signer.ts';
import { S3Archive, s3Client } from '../archive/store/s3-archive.ts';
import { S3Objects } from '../archive/store/s3-objects.ts';
import { StoredManifests } from '../archive/store/stored-manifests.ts';
import { writeManifests } from '../archive/use/write-manifests.ts';
import { AUDITOR_SERVICE } from '../kernel/contract/archive.ts';
import { type Buckets, type Keys, type Platform, systemPlatform } from '../kernel/platform/system-platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { idempotently } from '../once/idempotently.ts';
import type { OperationRunner } from '../once/use/operation-runner.ts';

/** Lists each hour what arrived in the archive. A run that failed is repeated, and the next one lists what it did not. */
export const handler = idempotently(
  { unit: 'the manifest of an hour', record: 'its object in the archive, which is named after its number' },
  (runner) => wire({ ...systemPlatform(), s3: s3Client, kms: kmsClient }, runner),
);

export function wire(platform: Platform & Buckets & Keys, _runner: OperationRunner) {
  const { clock, digest, variables } = platform;
  const { bucket, signingKey } = readAuditorConfig(variables);
  const telemetry = standardTelemetry(AUDITOR_SERVICE, platform.instruments);
  const s3 = platform.s3();
  const [writer, reader] = [new S3Archive(s3, bucket), new S3Objects(s3, bucket)];
  const manifests = new StoredManifests({
    put: (object) => writer.put(object),
    names: (...of) => reader.names(...of),
    text: (name) => reader.text(name),
  });
  const sign = signingKey === undefined ? undefined : kmsSigner(platform.kms(), signingKey);
  return async (): Promise<void> => {
    const deadlineMs = clock.nowMs() + AUDITOR_WORKS_SECONDS * 1_000;
    const written = await writeManifests({ manifests, digest, clock, sign }, deadlineMs);
    const objects = written.reduce((sum, each) => sum + each.objects.length, 0);
    const newest = await manifests.newest();
    const isWhole = newest?.kind === 'read' && !newest.manifest.isPart;
    telemetry.run('listed', isWhole ? { archive_listed: 1 } : {}, { manifests: written.length, objects });
  };
}
