import { getAudit } from '../archive/http/audit-route.ts';
import { readAuditConfig } from '../archive/settings.ts';
import { S3Objects } from '../archive/store/s3-objects.ts';
import { StoredManifests } from '../archive/store/stored-manifests.ts';
import { StoredVerifications } from '../archive/store/stored-verifications.ts';
import { operatorApi } from '../http/operator-api.ts';
import { s3Client } from '../kernel/platform/s3.ts';
import { type Buckets, type Platform, systemPlatform } from '../kernel/platform/system-platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { configuredOperators } from '../tenants/store/operator-registry.ts';

/** Not wrapped in `idempotently`, because this function only reads. */
export const handler = wire({ ...systemPlatform(), s3: () => s3Client({ maxAttempts: 3 }) });

export function wire(platform: Platform & Buckets) {
  const { clock, digest } = platform;
  const { registryTable, bucket } = readAuditConfig(platform.variables);
  const objects = bucket === undefined ? undefined : new S3Objects(platform.s3(), bucket);
  const archive =
    bucket === undefined || objects === undefined
      ? undefined
      : { bucket, digest, manifests: new StoredManifests(objects), verifications: new StoredVerifications(objects) };
  const telemetry = standardTelemetry('audit', platform.instruments);
  const tools = { archive, telemetry, digest, clock };
  return operatorApi([getAudit], tools, configuredOperators(platform, registryTable));
}
