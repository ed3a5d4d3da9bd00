import { Duration, Validations } from 'aws-cdk-lib';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { PUBLIC_EVENTS } from '../lambdas/events/contract.ts';
import { Environment, NODE_THREADS } from '../lambdas/kernel/contract/environment.ts';
import { CONSUMER_TIMEOUT_SECONDS } from '../lambdas/kernel/contract/events.ts';
import { RegistryRow, ViewsRow } from '../lambdas/kernel/contract/rows.ts';
import { RegistryTable } from '../lambdas/kernel/contract/tables.ts';
import { PAYMENTS_TIMEOUT_SECONDS, WEBHOOK_SENDER_TIMEOUT_SECONDS } from '../lambdas/kernel/contract/timing.ts';
import { allowRecursiveLoop } from './constructs/allow-recursive-loop.ts';
import { EventConsumer } from './constructs/event-consumer.ts';
import type { HttpApi } from './constructs/http-api.ts';
import { type FunctionLogs, PayonceFunction, type PayonceFunctionProps } from './constructs/payonce-function.ts';
import { payonceMetric } from './constructs/payonce-metric.ts';
import { RunbookAlarm } from './constructs/runbook-alarm.ts';
import { TaskQueue } from './constructs/task-queue.ts';
import type { DataStack } from './data-stack.ts';

export interface WebhooksProps {
  readonly data: Pick<DataStack, 'events' | 'idempotency' | 'ledger' | 'registry' | 'views' | 'webhookRoot'>;
  readonly http: HttpApi;
  readonly logs: FunctionLogs;
  /**
   * Allows webhooks to loopback addresses, including over plain HTTP, for a receiver on the same machine.
   * @default false
   */
  readonly allowLoopback?: boolean;
}

/** Number of tasks that one execution handles concurrently. Most of the time is spent waiting for receivers. */
const BATCH = 10;
/**
 * Maximum number of concurrent senders. Each sender handles a batch of ten tasks, and receives the next
 * batch when the slowest of these tasks has ended.
 */
const SENDERS = 20;
/**
 * Maximum number of lane runs and replay pages that are processed concurrently. The limit exceeds the number of
 * endpoints that a tenant can have in one mode. Each run makes up to ten concurrent requests.
 */
const LANE_WORKERS = 20;

/**
 * Number of threads for DNS look-ups. The system's resolver occupies one of Node's threads for each look-up (Node.js:
 * "dns.lookup", implementation considerations). With the default of four, a few unanswered look-ups would delay all
 * other calls. A look-up that has timed out still occupies its thread, so this number is enough for two batches.
 */
const THREADS = 2 * BATCH + 4;

const EVERY_MINUTE = { period: Duration.minutes(1) };

const BOOKS = [RegistryRow.webhookEndpoints];
const DELIVERIES = [RegistryRow.webhookDelivery];
const REPLAYS = [RegistryRow.webhookReplay];
const LANES = [RegistryRow.webhookLane];
const NOTICES = [RegistryRow.webhookNotice];

/** Merchant webhooks: the endpoints API, the fan-out of events, and the sender. A job retries due deliveries. */
export class Webhooks extends Construct {
  readonly sender: PayonceFunction;
  /** The queue of delivery tasks for the sender. */
  readonly queue: Queue;
  readonly #props: WebhooksProps;
  readonly #tasks: TaskQueue;
  readonly #lanes: TaskQueue;

  constructor(scope: Construct, id: string, props: WebhooksProps) {
    super(scope, id);
    this.#props = props;
    const handlerTimeout = Duration.seconds(WEBHOOK_SENDER_TIMEOUT_SECONDS);
    this.#tasks = new TaskQueue(this, 'Tasks', { handlerTimeout });
    const { deadLetters } = this.#tasks;
    this.#lanes = new TaskQueue(this, 'Lanes', { handlerTimeout, deadLetters });
    this.queue = this.#tasks.queue;
    const api = this.#api();
    props.http.route(['/v1/webhook_endpoints', '/v1/webhook_endpoints/{proxy+}'], api.function);
    new EventConsumer(this, 'Events', { bus: props.data.events.bus, consumer: this.#fanOut(), events: PUBLIC_EVENTS });
    this.sender = this.#sender();
    new RunbookAlarm(this, 'DeadLettersWait', {
      description: 'Messages that start webhook deliveries were dead-lettered.',
      entry: 'webhooks.md#webhooks-cannot-be-tried',
      metric: this.#tasks.deadLetters.metricApproximateNumberOfMessagesVisible({
        ...EVERY_MINUTE,
        statistic: 'Maximum',
      }),
      threshold: 1,
    });
    new RunbookAlarm(this, 'EndpointDisabled', {
      description: 'A merchant’s webhook endpoint failed for three days or returned 410, and was disabled.',
      entry: 'webhooks.md#a-webhook-endpoint-was-disabled',
      metric: payonceMetric({ service: 'webhook-sender', name: 'webhook_endpoint_disabled', ...EVERY_MINUTE }),
      threshold: 1,
    });
  }

  #api(): PayonceFunction {
    const { data } = this.#props;
    const api = this.#function('Api', {
      folder: 'webhooks',
      timeout: Duration.seconds(PAYMENTS_TIMEOUT_SECONDS),
      environment: { ...this.#calling(), [Environment.ledgerTable]: data.ledger.table.tableName },
    });
    data.idempotency.grantCommit(api, ['webhookRequest']);
    data.ledger.grantRecordActivity(api);
    const rows = [...BOOKS, ...DELIVERIES, ...REPLAYS];
    data.registry.grantAuthenticate(api);
    data.registry.grantIdentifyOperators(api);
    data.registry.grantReadTenants(api);
    data.registry.grantRows(api, 'ReadRows', ['dynamodb:GetItem'], rows);
    data.registry.grantRows(api, 'ListDeliveries', ['dynamodb:Query'], DELIVERIES);
    data.registry.grantRows(api, 'WriteRows', ['dynamodb:PutItem'], rows);
    data.webhookRoot.grantReadTo(api);
    return api;
  }

  #fanOut(): PayonceFunction {
    const { data } = this.#props;
    const fanOut = this.#function('FanOut', {
      folder: 'webhook-fan-out',
      timeout: Duration.seconds(CONSUMER_TIMEOUT_SECONDS),
    });
    data.registry.grantRows(fanOut, 'ReadRows', ['dynamodb:GetItem'], BOOKS);
    data.registry.grantRows(fanOut, 'WriteRows', ['dynamodb:PutItem'], DELIVERIES);
    return fanOut;
  }

  #sender(): PayonceFunction {
    const { data } = this.#props;
    const sender = this.#function('Sender', {
      folder: 'webhook-sender',
      timeout: Duration.seconds(WEBHOOK_SENDER_TIMEOUT_SECONDS),
      environment: {
        ...this.#calling(),
        [Environment.viewsTable]: data.views.tableName,
        [Environment.ledgerTable]: data.ledger.table.tableName,
        [NODE_THREADS]: String(THREADS),
        [Environment.parkingQueueUrl]: this.#tasks.deadLetters.queueUrl,
      },
    });
    const rows = [...BOOKS, ...DELIVERIES, ...REPLAYS, ...LANES];
    data.registry.grantRows(sender, 'ReadRows', ['dynamodb:GetItem'], rows);
    data.registry.grantRows(sender, 'ListDeliveries', ['dynamodb:Query'], DELIVERIES);
    data.registry.grantRows(sender, 'WriteRows', ['dynamodb:PutItem'], [...rows, ...NOTICES]);
    data.registry.grantRows(sender, 'ParkDeliveries', ['dynamodb:UpdateItem'], DELIVERIES);
    data.webhookRoot.grantReadTo(sender);
    // The sender reads the event from the Ledger at each attempt.
    data.ledger.grantReadTransitions(sender);
    data.registry.grantReadDetails(sender);
    // A replay lists the tenant's events in the Views.
    data.views.grantRows(sender, 'ListEvents', ['dynamodb:Query'], [ViewsRow.event]);
    data.registry.grantIndex(sender, 'FindLanes', RegistryTable.dueIndex.name);
    sender.allow('ParkMessages', 'sqs:SendMessage', this.#tasks.deadLetters.queueArn);
    const { function: own } = sender;
    const source = { reportBatchItemFailures: true };
    own.addEventSource(new SqsEventSource(this.#tasks.queue, { ...source, batchSize: BATCH, maxConcurrency: SENDERS }));
    own.addEventSource(
      new SqsEventSource(this.#lanes.queue, { ...source, batchSize: 1, maxConcurrency: LANE_WORKERS }),
    );
    // A replay continues page by page to the end of its range, and a delivery ends with its last attempt.
    allowRecursiveLoop(own);
    Validations.of(own).acknowledge({
      id: 'Serverless::Serverless-LambdaEventSourceMappingDestination',
      reason:
        "A queue's event source mapping needs no failure destination: SQS moves the messages to the dead-letter queue.",
    });
    return sender;
  }

  #calling(): NonNullable<PayonceFunctionProps['environment']> {
    const { data, allowLoopback = false } = this.#props;
    return {
      [Environment.webhookRootSecretId]: data.webhookRoot.arn,
      [Environment.webhookLoopback]: String(allowLoopback),
    };
  }

  /** Creates a function that may send tasks to both queues: the tasks of deliveries, and those of lanes and replays. */
  #function(
    id: string,
    { environment = {}, ...own }: Pick<PayonceFunctionProps, 'folder' | 'timeout'> & Partial<PayonceFunctionProps>,
  ): PayonceFunction {
    const { data, logs } = this.#props;
    const [tasks, lanes] = [this.#tasks.queue, this.#lanes.queue];
    const made = new PayonceFunction(this, id, {
      memoryMb: 256,
      ...logs,
      ...own,
      environment: {
        [Environment.idempotencyTable]: data.idempotency.tableName,
        [Environment.registryTable]: data.registry.tableName,
        [Environment.webhookTasksQueueUrl]: tasks.queueUrl,
        [Environment.webhookLanesQueueUrl]: lanes.queueUrl,
        ...environment,
      },
    });
    made.allow('Tasks', 'sqs:SendMessage', tasks.queueArn, lanes.queueArn);
    return made;
  }

  /**
   * Allows a jobs worker to find due deliveries, replays and lanes and enqueue them again, and to find due events about
   * endpoints. The worker publishes these events with the permission of `Events.grantRepublishLost`.
   */
  grantSweep(worker: PayonceFunction): void {
    const [tasks, lanes] = [this.#tasks.queue, this.#lanes.queue];
    worker.setEnvironment({
      [Environment.webhookTasksQueueUrl]: tasks.queueUrl,
      [Environment.webhookLanesQueueUrl]: lanes.queueUrl,
    });
    worker.allow('Webhooks', 'sqs:SendMessage', tasks.queueArn, lanes.queueArn);
    const { registry } = this.#props.data;
    const due = [...DELIVERIES, ...REPLAYS, ...LANES, ...NOTICES];
    registry.grantRows(worker, 'MoveDueWebhooks', ['dynamodb:UpdateItem'], due);
    registry.grantRows(worker, 'OpenLanes', ['dynamodb:GetItem', 'dynamodb:PutItem'], LANES);
    registry.grantRows(worker, 'ReadDueWebhooks', ['dynamodb:GetItem'], DELIVERIES);
    registry.grantIndex(worker, 'FindDueWebhooks', RegistryTable.dueIndex.name);
  }
}
