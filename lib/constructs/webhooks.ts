import { Duration, Validations } from 'aws-cdk-lib';
import { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { Environment } from '../../lambdas/kernel/contract/environment.ts';
import { CONSUMER_TIMEOUT_SECONDS } from '../../lambdas/kernel/contract/events.ts';
import { METRIC_NAMESPACE } from '../../lambdas/kernel/contract/metrics.ts';
import { RegistryRow } from '../../lambdas/kernel/contract/rows.ts';
import { LedgerTable } from '../../lambdas/kernel/contract/tables.ts';
import { PAYMENTS_TIMEOUT_SECONDS, WEBHOOK_SENDER_TIMEOUT_SECONDS } from '../../lambdas/kernel/contract/timing.ts';
import type { DataStack } from '../data-stack.ts';
import { allow, allowRows } from '../service-functions.ts';
import type { Settings } from '../settings.ts';
import { EventConsumer } from './event-consumer.ts';
import type { HttpApi } from './http-api.ts';
import { PayonceFunction, type PayonceFunctionProps } from './payonce-function.ts';
import { RunbookAlarm } from './runbook-alarm.ts';
import { TaskQueue } from './task-queue.ts';
import { wakesItself } from './wakes-itself.ts';

export interface WebhooksProps {
  readonly settings: Settings;
  readonly data: DataStack;
  readonly http: HttpApi;
}

const PATHS = [
  '/v1/webhook_endpoints',
  '/v1/webhook_endpoints/{id}',
  '/v1/webhook_endpoints/{id}/rotate_secret',
  '/v1/webhook_endpoints/{id}/replay',
  '/v1/webhook_endpoints/{id}/deliveries',
  '/v1/webhook_endpoints/{id}/deliveries/{delivery}/resend',
];

/** Sent at once by one execution: each mostly waits for somebody's server. */
const BATCH = 10;
/** So many merchants' servers may be slow at once, ten times over, before others wait. */
const SENDERS = 20;

/**
 * Names are looked up by the system's resolver, which holds one of Node's threads for as long as it waits (Node.js: "dns.lookup",
 * implementation considerations), and there are four: a few names that nobody answers for would make the others' calls late.
 * Enough for two batches, as a look-up that was given up goes on.
 */
const THREADS = 2 * BATCH + 4;

const EVERY_MINUTE = { period: Duration.minutes(1) };

const BOOKS = [RegistryRow.webhookEndpoints];
const DELIVERIES = [RegistryRow.webhookDelivery];
const DUE = [RegistryRow.webhookDue];
const REPLAYS = [RegistryRow.webhookReplay];

/** What merchants are told: the endpoints' API, the fan-out of events, and the sender; a job sweeps what is due. */
export class Webhooks extends Construct {
  readonly sender: PayonceFunction;
  /** What is to be sent. */
  readonly queue: Queue;
  readonly #props: WebhooksProps;
  readonly #tasks: TaskQueue;

  constructor(scope: Construct, id: string, props: WebhooksProps) {
    super(scope, id);
    this.#props = props;
    this.#tasks = new TaskQueue(this, 'Tasks', { handlerTimeout: Duration.seconds(WEBHOOK_SENDER_TIMEOUT_SECONDS) });
    this.queue = this.#tasks.queue;
    const api = this.#api();
    for (const path of PATHS) props.http.route(path, api.function);
    new EventConsumer(this, 'Events', { bus: props.data.events.bus, consumer: this.#fanOut() });
    this.sender = this.#sender();
    new RunbookAlarm(this, 'DeadLettersWait', {
      description: 'Messages that start webhook deliveries were dead-lettered.',
      entry: 'webhooks-cannot-be-tried',
      metric: this.#tasks.deadLetters.metricApproximateNumberOfMessagesVisible({
        ...EVERY_MINUTE,
        statistic: 'Maximum',
      }),
      threshold: 1,
    });
    new RunbookAlarm(this, 'EndpointDisabled', {
      description: 'A merchant’s webhook endpoint failed for three days or answered 410, and was disabled.',
      entry: 'a-webhook-endpoint-was-disabled',
      metric: new Metric({
        namespace: METRIC_NAMESPACE,
        metricName: 'webhook_endpoint_disabled',
        dimensionsMap: { service: 'webhook-sender' },
        statistic: 'Sum',
        ...EVERY_MINUTE,
      }),
      threshold: 1,
    });
  }

  #api(): PayonceFunction {
    const { data } = this.#props;
    const api = this.#function('Api', {
      folder: 'webhooks',
      timeout: Duration.seconds(PAYMENTS_TIMEOUT_SECONDS),
      environment: this.#calling(),
    });
    allow(api, data.idempotency, 'Effects', ['dynamodb:GetItem', 'dynamodb:PutItem']);
    allowRows(api, data.registry, 'ReadRows', ['dynamodb:GetItem'], [RegistryRow.apiKey, ...BOOKS, ...DELIVERIES]);
    allowRows(api, data.registry, 'ListDeliveries', ['dynamodb:Query'], DELIVERIES);
    const written = [...BOOKS, ...DELIVERIES, ...REPLAYS, ...DUE];
    allowRows(api, data.registry, 'WriteRows', ['dynamodb:PutItem'], written);
    allowRows(api, data.registry, 'MoveDue', ['dynamodb:DeleteItem'], DUE);
    data.webhookRoot.grantReadTo(api.role);
    return api;
  }

  #fanOut(): PayonceFunction {
    const { data } = this.#props;
    const fanOut = this.#function('FanOut', {
      folder: 'webhook-fan-out',
      timeout: Duration.seconds(CONSUMER_TIMEOUT_SECONDS),
    });
    allow(fanOut, data.idempotency, 'Effects', ['dynamodb:GetItem', 'dynamodb:PutItem']);
    allowRows(fanOut, data.registry, 'ReadRows', ['dynamodb:GetItem'], [...BOOKS, ...DELIVERIES]);
    allowRows(fanOut, data.registry, 'WriteRows', ['dynamodb:PutItem'], [...DELIVERIES, ...DUE]);
    return fanOut;
  }

  #sender(): PayonceFunction {
    const { data } = this.#props;
    const sender = this.#function('Sender', {
      folder: 'webhook-sender',
      timeout: Duration.seconds(WEBHOOK_SENDER_TIMEOUT_SECONDS),
      environment: {
        ...this.#calling(),
        [Environment.ledgerTable]: data.ledger.table.tableName,
        [Environment.nodeThreads]: String(THREADS),
      },
    });
    const rows = [...BOOKS, ...DELIVERIES, ...REPLAYS];
    allowRows(sender, data.registry, 'ReadRows', ['dynamodb:GetItem'], rows);
    allowRows(sender, data.registry, 'ListDeliveries', ['dynamodb:Query'], DELIVERIES);
    allowRows(sender, data.registry, 'WriteRows', ['dynamodb:PutItem'], [...rows, ...DUE]);
    allowRows(sender, data.registry, 'MoveDue', ['dynamodb:DeleteItem'], DUE);
    data.webhookRoot.grantReadTo(sender.role);
    // A replay walks through what happened.
    data.ledger.grantRead(sender.role);
    sender.role.addToPrincipalPolicy(
      new PolicyStatement({
        sid: 'FindOutcomes',
        actions: ['dynamodb:Query'],
        resources: [`${data.ledger.table.tableArn}/index/${LedgerTable.recentOutcomesIndex.name}`],
      }),
    );
    const { queue } = this.#tasks;
    sender.function.addEventSource(
      new SqsEventSource(queue, { batchSize: BATCH, reportBatchItemFailures: true, maxConcurrency: SENDERS }),
    );
    // A replay goes on page by page until its time is walked through; a delivery ends with its last attempt.
    wakesItself(sender.function);
    Validations.of(sender.function).acknowledge({
      id: 'Serverless::Serverless-LambdaEventSourceMappingDestination',
      reason: 'A queue has no destination for failures: what fails too often goes to its dead-letter queue.',
    });
    return sender;
  }

  #calling(): NonNullable<PayonceFunctionProps['environment']> {
    const { settings, data } = this.#props;
    return {
      [Environment.webhookRootSecretId]: data.webhookRoot.arn,
      [Environment.webhookLoopback]: String(settings.allowLoopbackWebhooks),
    };
  }

  /** All of them put tasks into the queue. */
  #function(
    id: string,
    { environment = {}, ...own }: Pick<PayonceFunctionProps, 'folder' | 'timeout'> & Partial<PayonceFunctionProps>,
  ): PayonceFunction {
    const { settings, data } = this.#props;
    const { queue } = this.#tasks;
    const made = new PayonceFunction(this, id, {
      memoryMb: 256,
      ...own,
      logRetentionDays: settings.logRetentionDays,
      retainLogs: settings.retainData,
      environment: {
        [Environment.idempotencyTable]: data.idempotency.tableName,
        [Environment.registryTable]: data.registry.tableName,
        [Environment.webhookTasksQueueUrl]: queue.queueUrl,
        ...environment,
      },
    });
    made.role.addToPrincipalPolicy(
      new PolicyStatement({ sid: 'Tasks', actions: ['sqs:SendMessage'], resources: [queue.queueArn] }),
    );
    return made;
  }
}
