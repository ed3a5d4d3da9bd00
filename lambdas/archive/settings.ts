import * as z from 'zod';
import { Environment } from '../kernel/contract/environment.ts';
import { queueUrl, readVariables, type Variables } from '../kernel/platform/variables.ts';

const archiverEnvironment = z.object({
  [Environment.archiveBucket]: z.string('is not set').min(3, 'must be the name of a bucket'),
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
