import { EXPORT_ROUTES } from '../exports/http/export-routes.ts';
import { readExportsConfig } from '../exports/settings.ts';
import { DynamoDbExports } from '../exports/store/dynamodb-exports.ts';
import { lambdaWriters } from '../exports/store/lambda-writers.ts';
import { FILES_CLIENT, linkTo } from '../exports/store/s3-export-files.ts';
import { authenticatedApi } from '../http/authenticated-api.ts';
import { lambdaClient } from '../kernel/platform/lambda.ts';
import { s3Client } from '../kernel/platform/s3.ts';
import { type Buckets, type Functions, type Platform, systemPlatform } from '../kernel/platform/system-platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { idempotently } from '../once/idempotently.ts';
import type { OperationRunner } from '../once/use/operation-runner.ts';
import { tenantLimits } from '../tenants/store/dynamodb-limits.ts';
import { operatorsForTenants } from '../tenants/store/operator-registry.ts';
import { DynamoDbApiKeyRegistry } from '../tenants/store/tenant-registry.ts';

export const handler = idempotently(
  { unit: 'a request with an idempotency key', record: 'the row of the export' },
  (runner) => wire({ ...systemPlatform(), s3: () => s3Client(FILES_CLIENT), lambda: lambdaClient }, runner),
);

export function wire(platform: Platform & Buckets & Functions, runner: OperationRunner) {
  const { documents, clock, entropy, digest } = platform;
  const { registryTable, ledgerTable, bucket, writer } = readExportsConfig(platform.variables);
  const pacing = { clock, entropy };
  const telemetry = standardTelemetry('exports', platform.instruments);
  const s3 = platform.s3();
  return authenticatedApi(EXPORT_ROUTES, {
    exports: new DynamoDbExports(documents, { registry: registryTable, ledger: ledgerTable }, pacing),
    startWriter: lambdaWriters(platform.lambda(), writer),
    link: (asked) => linkTo(s3, bucket, asked),
    keys: new DynamoDbApiKeyRegistry(documents, registryTable, pacing),
    limits: tenantLimits(platform, registryTable),
    operators: operatorsForTenants(platform, registryTable),
    report: (error) => telemetry.fault('start the writer of an export', error),
    runner,
    telemetry,
    digest,
    clock,
  });
}
