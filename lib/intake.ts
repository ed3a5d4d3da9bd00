import { createHash } from 'node:crypto';
import { Aws, CfnOutput, Duration, Stack, Validations } from 'aws-cdk-lib';
import { CfnEventBusPolicy, type IEventBus, type IRuleTarget, Rule } from 'aws-cdk-lib/aws-events';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import { Construct } from 'constructs';
import {
  IntakeEnvironment,
  type IntakeSettings,
  PAYMENT_REQUESTED,
  REQUESTS_AT_ONCE,
  senderName,
} from '../lambdas/intake/contract.ts';
import { StackOutput } from '../lambdas/kernel/contract/api.ts';
import { Environment } from '../lambdas/kernel/contract/environment.ts';
import { RegistryRow } from '../lambdas/kernel/contract/rows.ts';
import { PAYMENTS_TIMEOUT_SECONDS } from '../lambdas/kernel/contract/timing.ts';
import { allowRecursiveLoop } from './constructs/allow-recursive-loop.ts';
import { EngineFunction } from './constructs/engine-function.ts';
import { KafkaTopic } from './constructs/kafka-topic.ts';
import type { FunctionLogs } from './constructs/payonce-function.ts';
import { RunbookAlarm } from './constructs/runbook-alarm.ts';
import { TaskQueue } from './constructs/task-queue.ts';
import type { DataStack } from './data-stack.ts';
import type { Processors } from './processors.ts';
import type { PaymentRequests } from './settings/payment-requests.ts';
import { PREFIX } from './settings/rules.ts';

export interface IntakeProps {
  readonly data: Pick<DataStack, 'emailKeys' | 'events' | 'idempotency' | 'ledger' | 'registry'>;
  readonly processors: Processors;
  readonly logs: FunctionLogs;
  /** Memory of the function in MB, 128 to 10240. */
  readonly memoryMb: number;
  readonly requests: PaymentRequests;
}

/**
 * Maximum number of concurrent executions per queue. Each execution calls the processor for up to ten payments
 * concurrently.
 */
const CONCURRENCY = 10;
const EVERY_MINUTE = { period: Duration.minutes(1), statistic: 'Maximum' };
/**
 * Age of the oldest request at which an alarm is raised. A payer may be waiting, and an event older than the setting
 * `oldestHours` (by default, a day) starts no payment.
 */
const LONGEST_WAIT = Duration.minutes(30);
/**
 * Time for which EventBridge retries a delivery, set to the maximum (Amazon EventBridge user guide, "Retry policy").
 */
const DELIVER_FOR = Duration.hours(24);
/** Maximum size of an event bus policy, in characters (Amazon EventBridge user guide, "Amazon EventBridge quotas"). */
const LONGEST_BUS_POLICY = 10_240;
/**
 * Maximum sizes in characters: of one statement in the bus policy, not counting its source and principals, and of one
 * principal.
 */
const STATEMENT = 360;
const PRINCIPAL = 42;

/**
 * Accepts payment requests as events: from the bus, from queues of single senders, from Kafka topics, and from the NATS
 * bridge. Every transport invokes the same function. The function acknowledges an event after it has processed the
 * event or stored its request in the queue.
 */
export class Intake extends Construct {
  /** Processes the events of every transport. */
  readonly function: EngineFunction;
  /**
   * The queue of requests from the bus and the bridge, and of requests that the function delays. Its dead-letter queue
   * also contains parked requests.
   */
  readonly tasks: TaskQueue;
  readonly #props: IntakeProps;

  constructor(scope: Construct, id: string, props: IntakeProps) {
    super(scope, id);
    this.#props = props;
    const { data, processors, logs, memoryMb, requests } = props;
    const timeout = Duration.seconds(PAYMENTS_TIMEOUT_SECONDS);
    this.function = new EngineFunction(this, 'Default', {
      ...logs,
      folder: 'payment-requests',
      timeout,
      memoryMb,
      data,
      processors,
    });
    this.#grantPay();
    this.tasks = this.#queue('Tasks');
    const { queue, deadLetters } = this.tasks;
    this.function.allow('KeepRequests', 'sqs:SendMessage', queue.queueArn, deadLetters.queueArn);
    this.function.setEnvironment({
      [IntakeEnvironment.queueUrl]: queue.queueUrl,
      [Environment.parkingQueueUrl]: deadLetters.queueUrl,
      [IntakeEnvironment.settings]: Stack.of(this).toJsonString(this.#settings()),
    });
    // The chain of messages is bounded: the function re-enqueues a waiting request only until the request is too old.
    allowRecursiveLoop(this.function.function);
    this.#takeFromBus();
    for (const each of requests.senders) if ('topic' in each) this.#takeFromTopic(each);
    const outputs = {
      [StackOutput.paymentRequestsQueue]: queue.queueUrl,
      [StackOutput.parkedPaymentRequestsQueue]: deadLetters.queueUrl,
      [StackOutput.paymentRequestsFunction]: this.function.function.functionName,
    };
    for (const [name, value] of Object.entries(outputs)) new CfnOutput(Stack.of(this), name, { value });
  }

  /** Grants those permissions of `POST /v1/payments` that payment requests in events also need. */
  #grantPay(): void {
    const { emailKeys, idempotency, registry } = this.#props.data;
    idempotency.grantClaim(this.function, ['charge']);
    registry.grantCountRequests(this.function);
    registry.grantReadTenants(this.function);
    const { reference, details, hold, inquiry, return: giveBack } = RegistryRow;
    const rows = [reference, details, giveBack, inquiry, hold];
    registry.grantRows(this.function, 'WriteReferences', ['dynamodb:PutItem'], rows);
    this.function.setEnvironment({ [Environment.emailKeysSecretId]: emailKeys.arn });
    emailKeys.grantReadTo(this.function);
  }

  /** Also creates the queues that have a single sender. */
  #settings(): IntakeSettings {
    const { oldestHours, senders } = this.#props.requests;
    const queues: { readonly arn: string; readonly sender: string }[] = [];
    const mapped = senders.map((each) => {
      const { tenant, mode } = each;
      if ('topic' in each) return { sender: senderName.topic(each.topic), tenant, mode };
      if ('subject' in each) return { sender: senderName.subject(each.subject), tenant, mode };
      if ('source' in each) {
        return { sender: senderName.bus(each.source, each.account ?? Aws.ACCOUNT_ID), tenant, mode };
      }
      const sender = senderName.queue(each.queue);
      const { queue } = this.#queue(`Queue-${each.queue}`);
      new CfnOutput(Stack.of(this), `${StackOutput.paymentRequestsQueue}${each.queue}`, { value: queue.queueUrl });
      queues.push({ arn: queue.queueArn, sender });
      return { sender, tenant, mode };
    });
    return { oldestHours, senders: mapped, queues };
  }

  #queue(id: string): TaskQueue {
    const tasks = new TaskQueue(this, id, { handlerTimeout: Duration.seconds(PAYMENTS_TIMEOUT_SECONDS) });
    this.function.function.addEventSource(
      new SqsEventSource(tasks.queue, {
        batchSize: REQUESTS_AT_ONCE,
        reportBatchItemFailures: true,
        maxConcurrency: CONCURRENCY,
      }),
    );
    Validations.of(this.function.function).acknowledge({
      id: 'Serverless::Serverless-LambdaEventSourceMappingDestination',
      reason:
        "A queue's event source mapping needs no failure destination: SQS moves the messages to the dead-letter queue.",
    });
    new RunbookAlarm(tasks, 'RequestsParked', {
      description: `Payment requests from events were parked or dead-lettered (${id}).`,
      entry: 'events.md#payment-requests-are-parked',
      metric: tasks.deadLetters.metricApproximateNumberOfMessagesVisible({ ...EVERY_MINUTE }),
      threshold: 1,
    });
    new RunbookAlarm(tasks, 'RequestsWait', {
      description: `Payment requests from events wait too long (${id}).`,
      entry: 'events.md#events-wait',
      metric: tasks.queue.metricApproximateAgeOfOldestMessage({ ...EVERY_MINUTE }),
      threshold: LONGEST_WAIT.toSeconds(),
    });
    return tasks;
  }

  /**
   * Creates a rule for each sender on the bus, so that only events of known senders reach the queue. One statement
   * allows all rules of the bus to send to the queue, because a queue policy may have only twenty statements (Amazon
   * SQS developer guide, "Amazon SQS policy quotas").
   */
  #takeFromBus(): void {
    const { bus } = this.#props.data.events;
    const { queue, deadLetters } = this.tasks;
    const senders = this.#props.requests.senders.flatMap((each) => ('source' in each ? [each] : []));
    if (senders.length === 0) return;
    const rules = `arn:${Aws.PARTITION}:events:${Aws.REGION}:${Aws.ACCOUNT_ID}:rule/${bus.eventBusName}/*`;
    for (const each of [queue, deadLetters]) {
      each.addToResourcePolicy(
        new PolicyStatement({
          sid: 'RulesSend',
          principals: [new ServicePrincipal('events.amazonaws.com')],
          actions: ['sqs:SendMessage'],
          resources: [each.queueArn],
          conditions: { ArnLike: { 'aws:SourceArn': rules } },
        }),
      );
    }
    const target: IRuleTarget = {
      bind: () => ({
        arn: queue.queueArn,
        deadLetterConfig: { arn: deadLetters.queueArn },
        retryPolicy: { maximumEventAgeInSeconds: DELIVER_FOR.toSeconds() },
      }),
    };
    for (const { source, account = Aws.ACCOUNT_ID } of senders) {
      const name = account === Aws.ACCOUNT_ID ? source : `${source}-${account}`;
      new Rule(this, `Rule-${name}`, {
        // The cast is needed because CDK's class and its interface differ in an optional property.
        eventBus: bus as unknown as IEventBus,
        eventPattern: { source: [source], account: [account], detailType: [PAYMENT_REQUESTED] },
        targets: [target],
      });
    }
    this.#admitAccounts(senders);
  }

  /** Allows senders in other accounts to put events on the bus, but only payment requests. */
  #admitAccounts(senders: readonly { readonly source: string; readonly account?: string | undefined }[]): void {
    const { bus } = this.#props.data.events;
    const bySource = Map.groupBy(
      senders.flatMap(({ source, account }) => (account === undefined ? [] : [{ source, account }])),
      ({ source }) => source,
    );
    const accounts = [...bySource.values()].flat();
    const length = [...bySource.keys()].join('').length + bySource.size * STATEMENT + accounts.length * PRINCIPAL;
    if (length > LONGEST_BUS_POLICY) {
      throw new Error(
        `${PREFIX}paymentRequests has ${bySource.size} sources of other accounts, and the policy of the bus would have about ` +
          `${length} characters, but EventBridge allows ${LONGEST_BUS_POLICY}: use one source for several accounts`,
      );
    }
    let before: CfnEventBusPolicy | undefined;
    for (const [source, ofSource] of bySource) {
      const statement = new CfnEventBusPolicy(this, `Senders-${source}`, {
        eventBusName: bus.eventBusName,
        statementId: `PaymentRequests-${createHash('sha256').update(source).digest('hex').slice(0, 16)}`,
        statement: {
          Effect: 'Allow',
          Principal: { AWS: ofSource.map(({ account }) => `arn:${Aws.PARTITION}:iam::${account}:root`) },
          Action: 'events:PutEvents',
          Resource: bus.eventBusArn,
          Condition: { StringEquals: { 'events:source': source, 'events:detail-type': PAYMENT_REQUESTED } },
        },
      });
      // EventBridge refuses concurrent changes of the same policy (EventBridge API reference, "PutPermission").
      if (before !== undefined) statement.node.addDependency(before);
      before = statement;
    }
  }

  #takeFromTopic(sender: Extract<PaymentRequests['senders'][number], { topic: string }>): void {
    const { kafka } = this.#props.requests;
    if (kafka === undefined) throw new Error(`the topic ${sender.topic} has no brokers`);
    new KafkaTopic(this, `Topic-${sender.topic}`, {
      kafka,
      consumer: this.function,
      batch: REQUESTS_AT_ONCE,
      ...sender,
    });
  }
}
