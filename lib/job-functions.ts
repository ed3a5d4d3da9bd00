import { Duration } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { EXECUTOR_TIMEOUT_SECONDS, JOBS_API_TIMEOUT_SECONDS } from '../lambdas/jobs/contract.ts';
import { Environment } from '../lambdas/kernel/contract/environment.ts';
import type { JobWorkerName } from '../lambdas/kernel/contract/jobs.ts';
import { IdempotencyRow, OperationPrefix, RegistryRow } from '../lambdas/kernel/contract/rows.ts';
import { PayonceFunction } from './constructs/payonce-function.ts';
import { allowRows, type ServiceParts } from './service-functions.ts';

/** The queue of each worker. */
export type JobQueues = Readonly<Record<JobWorkerName, IQueue>>;

/** Records of the runs that were accepted, and of those that were asked for: no answer to a payment is among them. */
const ACCEPTED_RUNS = [`${IdempotencyRow.record}${OperationPrefix.acceptedRun}`];
const ASKED_RUNS = [`${IdempotencyRow.record}${OperationPrefix.askedRun}`];

type Parts = Pick<ServiceParts, 'settings' | 'data'>;

/** Accepts runs and shows them: it writes a run that is new, and changes none. */
export function jobsApiFunction(scope: Construct, { settings, data }: Parts, queues: JobQueues): PayonceFunction {
  const api = new PayonceFunction(scope, 'JobsApi', {
    folder: 'jobs',
    timeout: Duration.seconds(JOBS_API_TIMEOUT_SECONDS),
    memoryMb: 256,
    logRetentionDays: settings.logRetentionDays,
    retainLogs: settings.retainData,
    environment: {
      [Environment.idempotencyTable]: data.idempotency.tableName,
      [Environment.registryTable]: data.registry.tableName,
      [Environment.jobCredentialSecretId]: data.jobCredential.arn,
      [Environment.paymentJobsQueueUrl]: queues.payments.queueUrl,
      [Environment.upkeepJobsQueueUrl]: queues.upkeep.queueUrl,
    },
  });
  allowRows(api, data.idempotency, 'Effects', ['dynamodb:GetItem', 'dynamodb:PutItem'], ACCEPTED_RUNS);
  allowRows(api, data.registry, 'ReadRows', ['dynamodb:GetItem'], [RegistryRow.apiKey, RegistryRow.jobRuns]);
  allowRows(api, data.registry, 'ListAndAcceptRuns', ['dynamodb:Query', 'dynamodb:PutItem'], [RegistryRow.jobRuns]);
  data.jobCredential.grantReadTo(api.role);
  api.role.addToPrincipalPolicy(
    new PolicyStatement({
      sid: 'Enqueue',
      actions: ['sqs:SendMessage'],
      resources: [queues.payments.queueArn, queues.upkeep.queueArn],
    }),
  );
  return api;
}

/**
 * Asks for the runs that schedules fire for; it reaches no job and no row of one.
 *
 * @param apiUrl of our own API, without a trailing slash
 */
export function executorFunction(scope: Construct, { settings, data }: Parts, apiUrl: string): PayonceFunction {
  const executor = new PayonceFunction(scope, 'CronExecutor', {
    folder: 'cron-executor',
    timeout: Duration.seconds(EXECUTOR_TIMEOUT_SECONDS),
    memoryMb: 256,
    logRetentionDays: settings.logRetentionDays,
    retainLogs: settings.retainData,
    environment: {
      [Environment.idempotencyTable]: data.idempotency.tableName,
      [Environment.jobCredentialSecretId]: data.jobCredential.arn,
      [Environment.apiUrl]: apiUrl,
    },
  });
  allowRows(executor, data.idempotency, 'Effects', ['dynamodb:GetItem', 'dynamodb:PutItem'], ASKED_RUNS);
  data.jobCredential.grantReadTo(executor.role);
  return executor;
}
