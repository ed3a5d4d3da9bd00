import * as z from 'zod';
import { Environment } from '../kernel/contract/environment.ts';
import {
  baseUrl,
  jsonOf,
  queueUrl,
  readVariable,
  readVariables,
  secretId,
  tableName,
  type Variables,
} from '../kernel/platform/variables.ts';
import type { ListedJob } from './contract/job-targets.ts';
import { type Authority, type JobEntry, type JobWorkerName, jobsOf } from './contract/jobs.ts';

const executor = z.object({
  [Environment.idempotencyTable]: tableName,
  [Environment.jobCredentialSecretId]: secretId,
  [Environment.apiUrl]: baseUrl,
});
const api = z.object({
  [Environment.idempotencyTable]: tableName,
  [Environment.registryTable]: tableName,
  [Environment.jobCredentialSecretId]: secretId,
  [Environment.paymentJobsQueueUrl]: queueUrl,
  [Environment.upkeepJobsQueueUrl]: queueUrl,
  [Environment.ledgerTable]: tableName,
  [Environment.deploymentSettings]: jsonOf(z.record(z.string(), z.string(), 'must be an object with string values')),
});
const authority = z.literal('postgres', 'must be postgres, or be absent').optional();
const listedJobs = jsonOf(
  z.array(
    z.object({
      id: z.string(),
      target: z.string(),
      why: z.string(),
      schedule: z.string(),
      every: z.int().positive(),
      timeZone: z.string().exactOptional(),
      maxDuration: z.int().positive(),
    }) satisfies z.ZodType<ListedJob>,
  ),
);

export interface ExecutorConfig {
  readonly idempotencyTable: string;
  readonly credentialSecretId: string;
  readonly apiUrl: string;
}

/** @throws Error naming the variable that is missing or wrong */
export function readExecutorConfig(environment: Variables): ExecutorConfig {
  const data = readVariables(executor, environment);
  return {
    idempotencyTable: data[Environment.idempotencyTable],
    credentialSecretId: data[Environment.jobCredentialSecretId],
    apiUrl: data[Environment.apiUrl],
  };
}

export interface JobsApiConfig {
  readonly tables: { readonly idempotency: string; readonly ledger: string; readonly registry: string };
  readonly credentialSecretId: string;
  readonly queueUrls: Readonly<Record<JobWorkerName, string>>;
  readonly deploymentSettings: Readonly<Record<string, string>>;
  readonly own: readonly JobEntry[];
  readonly listed: readonly ListedJob[];
}

/** @throws Error as {@link readExecutorConfig} */
export function readAuthority(environment: Variables): Authority {
  return readVariable(Environment.authority, authority, environment) ?? 'dynamodb';
}

/** @throws Error as {@link readExecutorConfig} */
export function readOwnJobs(environment: Variables): readonly JobEntry[] {
  return jobsOf(readAuthority(environment));
}

/** @throws Error as {@link readExecutorConfig} */
export function readListedJobs(environment: Variables): readonly ListedJob[] {
  return readVariable(Environment.listedJobs, listedJobs, environment);
}

/** @throws Error as {@link readExecutorConfig} */
export function readJobsApiConfig(environment: Variables): JobsApiConfig {
  const data = readVariables(api, environment);
  return {
    tables: {
      idempotency: data[Environment.idempotencyTable],
      ledger: data[Environment.ledgerTable],
      registry: data[Environment.registryTable],
    },
    credentialSecretId: data[Environment.jobCredentialSecretId],
    queueUrls: { payments: data[Environment.paymentJobsQueueUrl], upkeep: data[Environment.upkeepJobsQueueUrl] },
    deploymentSettings: data[Environment.deploymentSettings],
    own: readOwnJobs(environment),
    listed: readListedJobs(environment),
  };
}

export interface JobWorkerConfig {
  /** The worker receives its messages from this queue, and sends the message for the next page to it. */
  readonly queueUrl: string;
  readonly parkingQueueUrl: string;
}

const OWN_QUEUES = {
  payments: Environment.paymentJobsQueueUrl,
  upkeep: Environment.upkeepJobsQueueUrl,
} as const satisfies Record<JobWorkerName, string>;

/** @throws Error as {@link readExecutorConfig} */
export function readJobWorkerConfig(environment: Variables, name: JobWorkerName): JobWorkerConfig {
  return {
    queueUrl: readVariable(OWN_QUEUES[name], queueUrl, environment),
    parkingQueueUrl: readVariable(Environment.parkingQueueUrl, queueUrl, environment),
  };
}
