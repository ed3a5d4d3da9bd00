import * as z from 'zod';
import { Environment } from '../kernel/contract/environment.ts';
import { queueUrl, readVariables, tableName, type Variables } from '../kernel/platform/variables.ts';

const bucket = z.string('is not set').min(3, 'must be the name of a bucket');

const archiverEnvironment = z.object({
  [Environment.archiveBucket]: bucket,
  [Environment.parkingQueueUrl]: queueUrl,
});

/** @throws Error naming the variable that is missing or wrong */
export function readArchiverConfig(environment: Variables): {
  readonly bucket: string;
  readonly parkingQueueUrl: string;
} {
  const data = readVariables(archiverEnvironment, environment);
  return { bucket: data[Environment.archiveBucket], parkingQueueUrl: data[Environment.parkingQueueUrl] };
}

const auditorEnvironment = z.object({
  [Environment.archiveBucket]: bucket,
  [Environment.ledgerTable]: tableName,
  [Environment.registryTable]: tableName,
  [Environment.archiveSigningKey]: z.string().startsWith('arn:', 'must be the ARN of a KMS key').optional(),
});

/** @throws Error naming the variable that is missing or wrong */
export function readAuditorConfig(environment: Variables): {
  readonly bucket: string;
  /** @default manifests are not signed */
  readonly signingKey: string | undefined;
  readonly tables: { readonly ledger: string; readonly registry: string };
} {
  const data = readVariables(auditorEnvironment, environment);
  return {
    bucket: data[Environment.archiveBucket],
    signingKey: data[Environment.archiveSigningKey],
    tables: { ledger: data[Environment.ledgerTable], registry: data[Environment.registryTable] },
  };
}

const auditEnvironment = z.object({
  [Environment.registryTable]: tableName,
  [Environment.archiveBucket]: bucket.optional(),
});

/** @throws Error naming the variable that is missing or wrong */
export function readAuditConfig(environment: Variables): {
  readonly registryTable: string;
  /** @default no archive is configured */
  readonly bucket: string | undefined;
} {
  const data = readVariables(auditEnvironment, environment);
  return { registryTable: data[Environment.registryTable], bucket: data[Environment.archiveBucket] };
}
