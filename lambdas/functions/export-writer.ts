import { EXPORT_WRITER_BEGINS_SECONDS } from '../exports/contract.ts';
import { parseWriterRequest, readExportWriterConfig } from '../exports/settings.ts';
import { DynamoDbExports } from '../exports/store/dynamodb-exports.ts';
import { lambdaWriters } from '../exports/store/lambda-writers.ts';
import { FILES_CLIENT, S3ExportFiles } from '../exports/store/s3-export-files.ts';
import { exportRows } from '../exports/use/export-rows.ts';
import { writeExport } from '../exports/use/write-export.ts';
import { tenantId } from '../kernel/ids.ts';
import { lambdaClient } from '../kernel/platform/lambda.ts';
import { s3Client } from '../kernel/platform/s3.ts';
import { type Buckets, type Functions, type Platform, systemPlatform } from '../kernel/platform/system-platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { idempotently } from '../once/idempotently.ts';
import type { OperationRunner } from '../once/use/operation-runner.ts';
import { LedgerTransitions } from '../payments/store/ledger-transitions.ts';
import { DynamoDbViews } from '../views/store/dynamodb-views.ts';

export const handler = idempotently(
  { unit: 'a part of an export', record: 'the row of the export, saved while the writer holds the lease' },
  (runner) => wire({ ...systemPlatform(), s3: () => s3Client(FILES_CLIENT), lambda: lambdaClient }, runner),
);

export function wire(platform: Platform & Buckets & Functions, _runner: OperationRunner) {
  const { documents, clock, entropy } = platform;
  const { tables, viewsTable, bucket, ownName } = readExportWriterConfig(platform.variables);
  const pacing = { clock, entropy };
  const telemetry = standardTelemetry('export-writer', platform.instruments);
  const tools = {
    exports: new DynamoDbExports(documents, tables, pacing),
    files: new S3ExportFiles(platform.s3(), bucket),
    rows: exportRows({
      views: new DynamoDbViews(documents, viewsTable, pacing),
      transitions: new LedgerTransitions(documents, tables, pacing),
    }),
    startWriter: lambdaWriters(platform.lambda(), ownName),
    clock,
    entropy,
  };
  return async (payload: unknown): Promise<void> => {
    const request = parseWriterRequest(payload);
    const key = { ...request, tenantId: tenantId(request.tenantId) };
    const outcome = await writeExport(tools, key, clock.nowMs() + EXPORT_WRITER_BEGINS_SECONDS * 1000);
    telemetry.run('export', {}, { export: key.id, outcome });
  };
}
