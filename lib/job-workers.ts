import { Duration } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { JOB_WORKER_TIMEOUT_SECONDS } from '../lambdas/jobs/contract.ts';
import { Environment } from '../lambdas/kernel/contract/environment.ts';
import { RegistryRow } from '../lambdas/kernel/contract/rows.ts';
import { IdempotencyTable, LedgerTable } from '../lambdas/kernel/contract/tables.ts';
import { JobWorker } from './constructs/job-worker.ts';
import { PayonceFunction } from './constructs/payonce-function.ts';
import { BUSINESS_RECORDS } from './event-consumers.ts';
import { grantClientSecrets } from './processors.ts';
import { allow, allowRows, engineEnvironment, engineFunction, type ServiceParts } from './service-functions.ts';

/** A worker of jobs and where its runs come from. */
export interface WorkerOfJobs {
  readonly worker: PayonceFunction;
  readonly queue: IQueue;
}

const TIMEOUT = Duration.seconds(JOB_WORKER_TIMEOUT_SECONDS);
/** What the sweeps take from, and give back to. */
const QUEUES = [RegistryRow.return, RegistryRow.inquiry, RegistryRow.openOrder, RegistryRow.hold, RegistryRow.orphan];

/** Finishes what others began, as a retry would; sends back what may not be kept; tries orphans again; ends holds. */
export function paymentJobs(scope: Construct, parts: ServiceParts): WorkerOfJobs {
  const { settings, data } = parts;
  const worker = engineFunction(scope, 'PaymentJobs', parts, {
    folder: 'payment-jobs',
    timeout: TIMEOUT,
    memoryMb: settings.memoryMb,
  });
  allow(worker, data.idempotency, 'Claims', ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem']);
  allowIndex(worker, 'FindOpenClaims', data.idempotency.tableArn, IdempotencyTable.openClaimsIndex.name);
  const written = [
    RegistryRow.reference,
    RegistryRow.return,
    RegistryRow.inquiry,
    RegistryRow.openOrder,
    RegistryRow.hold,
    RegistryRow.keptOrphan,
  ];
  allowRows(worker, data.registry, 'WriteReferences', ['dynamodb:PutItem'], written);
  allowRows(worker, data.registry, 'TakeQueued', ['dynamodb:Query', 'dynamodb:DeleteItem'], QUEUES);
  return withQueue(scope, 'PaymentRuns', parts, worker, Environment.paymentJobsQueueUrl);
}

/** Keeps house: compares books, adds days up, publishes what was lost, clears away. It appends nothing to the Ledger. */
export function upkeepJobs(
  scope: Construct,
  parts: ServiceParts,
  { webhookTasks }: { readonly webhookTasks: IQueue },
): WorkerOfJobs {
  const { settings, data } = parts;
  const worker = new PayonceFunction(scope, 'UpkeepJobs', {
    folder: 'upkeep-jobs',
    timeout: TIMEOUT,
    memoryMb: settings.memoryMb,
    logRetentionDays: settings.logRetentionDays,
    retainLogs: settings.retainData,
    environment: {
      ...engineEnvironment(parts),
      [Environment.viewsTable]: data.views.tableName,
      [Environment.eventBus]: data.events.bus.eventBusName,
      [Environment.webhookTasksQueueUrl]: webhookTasks.queueUrl,
      [Environment.lostAfterSeconds]: String(settings.eventsLostAfterSeconds),
    },
  });
  allowLedger(worker, parts);
  allowSweeps(worker, parts);
  allowOne(worker, 'Webhooks', 'sqs:SendMessage', webhookTasks.queueArn);
  allowOne(worker, 'PublishEvents', 'events:PutEvents', data.events.bus.eventBusArn);
  grantClientSecrets(parts, worker.role);
  return withQueue(scope, 'UpkeepRuns', parts, worker, Environment.upkeepJobsQueueUrl);
}

function allowLedger(worker: PayonceFunction, { data }: ServiceParts): void {
  data.ledger.grantRead(worker.role);
  const { tableArn } = data.ledger.table;
  allowIndex(worker, 'FindOutcomes', tableArn, LedgerTable.recentOutcomesIndex.name);
  allowOne(worker, 'AgeOfLedger', 'dynamodb:DescribeTable', tableArn);
}

/** The records of what was done, and those that are over; the views; and its own rows of the Registry. */
function allowSweeps(worker: PayonceFunction, { data }: ServiceParts): void {
  const { idempotency, registry, views } = data;
  // Of what it does of itself: no record of a payment.
  allowRows(worker, idempotency, 'Effects', ['dynamodb:GetItem', 'dynamodb:PutItem'], BUSINESS_RECORDS);
  allow(worker, idempotency, 'Purge', ['dynamodb:Scan', 'dynamodb:DeleteItem', 'dynamodb:DescribeTimeToLive']);
  allow(worker, registry, 'TimeToLive', ['dynamodb:DescribeTimeToLive']);
  allow(worker, views, 'KeepViews', ['dynamodb:GetItem', 'dynamodb:Query', 'dynamodb:PutItem', 'dynamodb:DeleteItem']);
  const listed = [RegistryRow.webhookDue, RegistryRow.commissionDue, RegistryRow.owners];
  allowRows(worker, registry, 'FindDue', ['dynamodb:Query'], listed);
  allowRows(worker, registry, 'TakeDue', ['dynamodb:DeleteItem'], [RegistryRow.commissionDue]);
  allowRows(worker, registry, 'ReadKept', ['dynamodb:GetItem'], [RegistryRow.jobMark, RegistryRow.commission]);
  const kept = [RegistryRow.jobMark, RegistryRow.commission, RegistryRow.commissionOfOrder];
  allowRows(worker, registry, 'Keep', ['dynamodb:PutItem'], kept);
}

/** Its queue, and the rows of its runs and of the locks under which it works at them. */
function withQueue(
  scope: Construct,
  id: string,
  { data }: ServiceParts,
  worker: PayonceFunction,
  variable: typeof Environment.paymentJobsQueueUrl | typeof Environment.upkeepJobsQueueUrl,
): WorkerOfJobs {
  allowRows(worker, data.registry, 'Runs', ['dynamodb:GetItem', 'dynamodb:PutItem'], [RegistryRow.jobRuns]);
  allowRows(worker, data.registry, 'Locks', ['dynamodb:UpdateItem'], [RegistryRow.jobLock]);
  const { queue } = new JobWorker(scope, id, { worker });
  worker.function.addEnvironment(variable, queue.queueUrl);
  return { worker, queue };
}

function allowIndex(worker: PayonceFunction, sid: string, tableArn: string, index: string): void {
  allowOne(worker, sid, 'dynamodb:Query', `${tableArn}/index/${index}`);
}

function allowOne({ role }: PayonceFunction, sid: string, action: string, resource: string): void {
  role.addToPrincipalPolicy(new PolicyStatement({ sid, actions: [action], resources: [resource] }));
}
