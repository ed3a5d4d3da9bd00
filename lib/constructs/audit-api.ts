import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { Environment } from '../../lambdas/kernel/contract/environment.ts';
import { PAYMENTS_TIMEOUT_SECONDS } from '../../lambdas/kernel/contract/timing.ts';
import { defined } from '../../lambdas/kernel/defined.ts';
import type { DataStack } from '../data-stack.ts';
import type { Settings } from '../settings.ts';
import { type ArchiveBucket, grantReadAudit } from './archive-bucket.ts';
import type { HttpApi } from './http-api.ts';
import { type FunctionLogs, PayonceFunction } from './payonce-function.ts';

export interface AuditApiProps {
  readonly data: Pick<DataStack, 'registry'>;
  readonly http: HttpApi;
  readonly logs: FunctionLogs;
  readonly settings: Pick<Settings, 'archiveKeyArn' | 'memoryMb'>;
  /** @default no bucket; the response states that there is no archive */
  readonly bucket?: ArchiveBucket | undefined;
}

/**
 * Shows operators the latest verifications of the auditor, and the newest manifests. The function reads no rows,
 * neither in the Ledger nor in the archive.
 */
export class AuditApi extends Construct {
  constructor(scope: Construct, id: string, { data, http, logs, settings, bucket }: AuditApiProps) {
    super(scope, id);
    const { archiveKeyArn, memoryMb } = settings;
    const api = new PayonceFunction(this, 'Api', {
      ...logs,
      folder: 'audit',
      timeout: Duration.seconds(PAYMENTS_TIMEOUT_SECONDS),
      memoryMb,
      environment: {
        [Environment.registryTable]: data.registry.tableName,
        ...defined({ [Environment.archiveBucket]: bucket?.name }),
      },
    });
    data.registry.grantIdentifyOperators(api);
    http.route(['/v1/admin/audit'], api.function);
    if (bucket === undefined) return;
    grantReadAudit(bucket, api.role);
    if (archiveKeyArn !== undefined) api.allow('DecryptArchive', 'kms:Decrypt', archiveKeyArn);
  }
}
