import * as z from 'zod';
import { type CalledTarget, TargetEnvironment } from '../jobs/contract/job-targets.ts';
import { Environment } from '../kernel/contract/environment.ts';
import {
  baseUrl,
  jsonOf,
  queueUrl,
  readVariables,
  secretId,
  tableName,
  type Variables,
} from '../kernel/platform/variables.ts';

const target = z.object({
  url: baseUrl,
  secretId,
  jobs: z.record(
    z.string(),
    z.object({ path: z.string(), scopes: z.array(z.string()), windowSeconds: z.int().positive() }),
  ),
}) satisfies z.ZodType<CalledTarget>;

const variables = z.object({
  [Environment.idempotencyTable]: tableName,
  [Environment.registryTable]: tableName,
  [Environment.webhookLoopback]: z.enum(['true', 'false'], 'must be true or false'),
  [TargetEnvironment.targets]: jsonOf(z.record(z.string(), target)),
  [TargetEnvironment.queueUrl]: queueUrl,
  [TargetEnvironment.missedQueueUrl]: queueUrl,
});

export interface JobTargetsConfig {
  readonly idempotencyTable: string;
  readonly registryTable: string;
  readonly allowLoopback: boolean;
  readonly targets: Readonly<Record<string, CalledTarget>>;
  readonly queueUrl: string;
  readonly missedQueueUrl: string;
}

export function readJobTargetsConfig(environment: Variables): JobTargetsConfig {
  const data = readVariables(variables, environment);
  return {
    idempotencyTable: data[Environment.idempotencyTable],
    registryTable: data[Environment.registryTable],
    allowLoopback: data[Environment.webhookLoopback] === 'true',
    targets: data[TargetEnvironment.targets],
    queueUrl: data[TargetEnvironment.queueUrl],
    missedQueueUrl: data[TargetEnvironment.missedQueueUrl],
  };
}
