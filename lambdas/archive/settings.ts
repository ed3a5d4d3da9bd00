import * as z from 'zod';
import { Environment } from '../kernel/contract/environment.ts';
import { queueUrl, readVariables, type Variables } from '../kernel/platform/variables.ts';

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
  [Environment.archiveSigningKey]: z.string().startsWith('arn:', 'must be the ARN of a KMS key').optional(),
});

/** @throws Error naming the variable that is missing or wrong */
export function readAuditorConfig(environment: Variables): {
  readonly bucket: string;
  /** @default manifests are not signed */
  readonly signingKey: string | undefined;
} {
  const data = readVariables(auditorEnvironment, environment);
  return { bucket: data[Environment.archiveBucket], signingKey: data[Environment.archiveSigningKey] };
}
