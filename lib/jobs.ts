import { Duration } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { listedJobs } from '../lambdas/jobs/contract/job-targets.ts';
import { type Authority, type JobWorkerName, jobsOf } from '../lambdas/jobs/contract/jobs.ts';
import {
  EXECUTOR_TIMEOUT_SECONDS,
  JOB_WORKER_TIMEOUT_SECONDS,
  JOBS_API_TIMEOUT_SECONDS,
} from '../lambdas/jobs/contract/runs.ts';
import { Environment } from '../lambdas/kernel/contract/environment.ts';
import { RegistryRow } from '../lambdas/kernel/contract/rows.ts';
import { EngineFunction, engineTables } from './constructs/engine-function.ts';
import type { HttpApi } from './constructs/http-api.ts';
import { JobWorker } from './constructs/job-worker.ts';
import { type FunctionLogs, PayonceFunction } from './constructs/payonce-function.ts';
import { ScheduledJobs } from './constructs/scheduled-jobs.ts';
import { TargetJobs } from './constructs/target-jobs.ts';
import type { DataStack } from './data-stack.ts';
import type { Processors } from './processors.ts';
import type { Settings } from './settings.ts';

export interface JobsProps {
  readonly data: Pick<DataStack, 'idempotency' | 'jobCredential' | 'jobTargetCredentials' | 'ledger' | 'registry'>;
  readonly processors: Processors;
  readonly http: HttpApi;
  readonly logs: FunctionLogs;
  /** Memory of the workers, in MB (128 to 10,240). */
  readonly memoryMb: number;
  /**
   * Other services with scheduled jobs, and whether loopback addresses are allowed.
   * @default no other services
   */
  readonly calls?: Pick<Settings, 'jobTargets' | 'allowLoopbackWebhooks'>;
  /** The system of record. @default dynamodb */
  readonly authority?: Authority;
  /** Settings of the deployment, which are recorded in the activity log. */
  readonly settings: Readonly<Record<string, string>>;
}

const QUEUE_VARIABLES = {
  payments: Environment.paymentJobsQueueUrl,
  upkeep: Environment.upkeepJobsQueueUrl,
} as const satisfies Record<JobWorkerName, string>;

/**
 * Scheduled jobs: their schedules, the executor that requests runs, the API that accepts runs, and a worker for each
 * set of permissions. A worker gets its permissions from the constructs of the jobs' areas.
 */
export class Jobs extends Construct {
  readonly workers: Readonly<Record<JobWorkerName, PayonceFunction>>;
  readonly schedules: ScheduledJobs;
  readonly #props: JobsProps;

  constructor(scope: Construct, id: string, props: JobsProps) {
    super(scope, id);
    this.#props = props;
    const { data, processors, http, logs, memoryMb, authority = 'dynamodb' } = props;
    const own = { ...logs, timeout: Duration.seconds(JOB_WORKER_TIMEOUT_SECONDS), memoryMb };
    this.workers = {
      // Runs the jobs that move money.
      payments: new EngineFunction(this, 'Payments', {
        ...own,
        folder: 'payment-jobs',
        data,
        processors,
        appends: ['payment', 'order'],
        changes: true,
      }),
      // Runs maintenance jobs. Appends nothing to the Ledger.
      upkeep: new PayonceFunction(this, 'Upkeep', { ...own, folder: 'upkeep-jobs', environment: engineTables(data) }),
    };
    const queues = {
      payments: this.#queueOf('payments', 'PaymentRuns'),
      upkeep: this.#queueOf('upkeep', 'UpkeepRuns'),
    } satisfies Record<JobWorkerName, IQueue>;
    const api = this.#api(Object.entries(queues) as [JobWorkerName, IQueue][]);
    http.route(['/v1/admin/jobs', '/v1/admin/jobs/{proxy+}'], api.function);
    this.schedules = new ScheduledJobs(this, 'Default', {
      jobs: jobsOf(authority),
      executor: this.#executor().function,
    });
    const { jobTargets: targets, allowLoopbackWebhooks: allowLoopback = false } = props.calls ?? {};
    const { missed } = this.schedules;
    const listed = JSON.stringify(listedJobs(targets ?? {}));
    const named = authority === 'dynamodb' ? {} : { [Environment.authority]: authority };
    for (const each of [api, this.workers.upkeep]) each.setEnvironment({ [Environment.listedJobs]: listed, ...named });
    if (targets !== undefined) new TargetJobs(this, 'Targets', { targets, data, logs, missed, allowLoopback });
  }

  #queueOf(name: JobWorkerName, id: string): IQueue {
    const { registry } = this.#props.data;
    const worker = this.workers[name];
    registry.grantRows(worker, 'Runs', ['dynamodb:GetItem', 'dynamodb:PutItem'], [RegistryRow.jobRuns]);
    // The upkeep worker reports overdue jobs.
    if (name === 'upkeep') registry.grantRows(worker, 'ListRuns', ['dynamodb:Query'], [RegistryRow.jobRuns]);
    registry.grantRows(worker, 'Locks', ['dynamodb:UpdateItem'], [RegistryRow.jobLock]);
    const { queue } = new JobWorker(this, id, { worker });
    worker.setEnvironment({ [QUEUE_VARIABLES[name]]: queue.queueUrl });
    return queue;
  }

  #api(queues: readonly (readonly [JobWorkerName, IQueue])[]): PayonceFunction {
    const { data, logs, settings } = this.#props;
    const api = new PayonceFunction(this, 'Api', {
      ...logs,
      folder: 'jobs',
      timeout: Duration.seconds(JOBS_API_TIMEOUT_SECONDS),
      memoryMb: 256,
      environment: {
        [Environment.idempotencyTable]: data.idempotency.tableName,
        [Environment.ledgerTable]: data.ledger.table.tableName,
        [Environment.registryTable]: data.registry.tableName,
        [Environment.deploymentSettings]: JSON.stringify(settings),
        [Environment.jobCredentialSecretId]: data.jobCredential.arn,
      },
    });
    for (const [name, queue] of queues) api.setEnvironment({ [QUEUE_VARIABLES[name]]: queue.queueUrl });
    data.idempotency.grantCommit(api, ['acceptedRun']);
    data.ledger.grantRecordActivity(api);
    data.registry.grantIdentifyOperators(api);
    data.registry.grantRows(api, 'ReadRuns', ['dynamodb:GetItem'], [RegistryRow.jobRuns]);
    const actions = ['dynamodb:Query', 'dynamodb:PutItem'];
    data.registry.grantRows(api, 'ListAndAcceptRuns', actions, [RegistryRow.jobRuns]);
    data.jobCredential.grantReadTo(api);
    const resources = queues.map(([, queue]) => queue.queueArn);
    api.role.addToPrincipalPolicy(new PolicyStatement({ sid: 'Enqueue', actions: ['sqs:SendMessage'], resources }));
    return api;
  }

  /** In the tables, the executor may access only the records of its own requests. It has no access to job queues. */
  #executor(): PayonceFunction {
    const { data, http, logs } = this.#props;
    const executor = new PayonceFunction(this, 'Executor', {
      ...logs,
      folder: 'cron-executor',
      timeout: Duration.seconds(EXECUTOR_TIMEOUT_SECONDS),
      memoryMb: 256,
      environment: {
        [Environment.idempotencyTable]: data.idempotency.tableName,
        [Environment.jobCredentialSecretId]: data.jobCredential.arn,
        // The executor is not part of the API, so this reference to the API's address is not circular.
        [Environment.apiUrl]: http.url,
      },
    });
    data.idempotency.grantCommit(executor, ['askedRun']);
    data.jobCredential.grantReadTo(executor);
    return executor;
  }
}
