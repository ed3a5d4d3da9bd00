import { Duration, Validations } from 'aws-cdk-lib';
import { type EventBus, type IEventBus, Rule } from 'aws-cdk-lib/aws-events';
import { SqsQueue } from 'aws-cdk-lib/aws-events-targets';
import { type IPrincipal, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Function } from 'aws-cdk-lib/aws-lambda';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import { Construct } from 'constructs';
import type { EventName } from '../../lambdas/events/contract.ts';
import { Environment } from '../../lambdas/kernel/contract/environment.ts';
import { CONSUMER_TIMEOUT_SECONDS, EVENT_SOURCE } from '../../lambdas/kernel/contract/events.ts';
import { defined } from '../../lambdas/kernel/defined.ts';
import { RunbookAlarm } from './runbook-alarm.ts';
import { TaskQueue } from './task-queue.ts';

export interface EventConsumerProps {
  readonly bus: EventBus;
  /** Consumer function, created with `createEventHandler`. Its timeout must not exceed CONSUMER_TIMEOUT_SECONDS. */
  readonly consumer: { readonly function: Function; readonly role: Pick<IPrincipal, 'addToPrincipalPolicy'> };
  /** The events that the consumer receives. Its handler must name the same events. */
  readonly events: readonly EventName[];
  /**
   * The name of a metadata entry. Only payment events with this entry, and order events with a field of this name, are
   * delivered. The events are filtered by the bus rule instead of the consumer, because each message costs three SQS
   * requests and an execution, and few payments have the entry.
   * @default all events are delivered
   */
  readonly metadata?: string;
  /** Maximum number of concurrent executions, 2 to 1000. @default 10 */
  readonly concurrency?: number;
}

const DEFAULT_CONCURRENCY = 10;
/** Maximum number of messages per execution. They are processed concurrently, each in its own transaction. */
const BATCH = 10;
const EVERY_MINUTE = { period: Duration.minutes(1), statistic: 'Maximum' };
/**
 * Age of the oldest message at which an alarm is raised. SQS deletes messages after two weeks, and operators must be
 * notified much earlier that the consumer is behind.
 */
const LONGEST_WAIT = Duration.minutes(30);
/**
 * Time for which EventBridge retries a delivery, set to the maximum (Amazon EventBridge user guide, "Retry policy").
 */
const DELIVER_FOR = Duration.hours(24);

/**
 * Delivers events to a function: rule → queue → function. Each message succeeds or fails separately. Alarms report dead
 * letters, and events that wait too long.
 */
export class EventConsumer extends Construct {
  readonly tasks: TaskQueue;

  constructor(scope: Construct, id: string, props: EventConsumerProps) {
    super(scope, id);
    const { bus, consumer, events, metadata, concurrency = DEFAULT_CONCURRENCY } = props;
    const seconds = consumer.function.timeout?.toSeconds() ?? 0;
    if (seconds > CONSUMER_TIMEOUT_SECONDS) {
      throw new Error(
        `${id}: the timeout of its function is ${seconds} s, but must be at most ${CONSUMER_TIMEOUT_SECONDS} s, so that the function ends before its claim can be taken over`,
      );
    }
    this.tasks = new TaskQueue(this, 'Tasks', { handlerTimeout: Duration.seconds(CONSUMER_TIMEOUT_SECONDS) });
    const { queue, deadLetters } = this.tasks;
    for (const [ruleId, { detailType, detail }] of Object.entries(patternsOf(events, metadata))) {
      new Rule(this, ruleId, {
        // The cast is needed because CDK's class and its interface differ in an optional property.
        eventBus: bus as unknown as IEventBus,
        eventPattern: { source: [EVENT_SOURCE], detailType, ...defined({ detail }) },
        targets: [new SqsQueue(queue, { deadLetterQueue: deadLetters, maxEventAge: DELIVER_FOR })],
      });
    }
    consumer.function.addEventSource(
      new SqsEventSource(queue, { batchSize: BATCH, reportBatchItemFailures: true, maxConcurrency: concurrency }),
    );
    Validations.of(consumer.function).acknowledge({
      id: 'Serverless::Serverless-LambdaEventSourceMappingDestination',
      reason:
        "A queue's event source mapping needs no failure destination: SQS moves the messages to the dead-letter queue.",
    });
    // The function itself moves messages that it cannot read to the dead-letter queue, with the reason, and re-enqueues
    // failed messages.
    consumer.function.addEnvironment(Environment.parkingQueueUrl, deadLetters.queueUrl);
    // The statement has no id, because consumers can share a role, and IAM refuses two statements with the same id.
    consumer.role.addToPrincipalPolicy(
      new PolicyStatement({
        actions: ['sqs:SendMessage'],
        resources: [deadLetters.queueArn, queue.queueArn],
      }),
    );
    new RunbookAlarm(this, 'DeadLettersWait', {
      description: `The dead-letter queue of ${id} contains events.`,
      entry: 'events.md#events-that-could-not-be-processed',
      metric: deadLetters.metricApproximateNumberOfMessagesVisible({ ...EVERY_MINUTE }),
      threshold: 1,
    });
    new RunbookAlarm(this, 'EventsWait', {
      description: `Events for ${id} wait too long.`,
      entry: 'events.md#events-wait',
      metric: queue.metricApproximateAgeOfOldestMessage({ ...EVERY_MINUTE }),
      threshold: LONGEST_WAIT.toSeconds(),
    });
  }
}

interface SelectedEvents {
  readonly detailType: string[];
  readonly detail?: Readonly<Record<string, unknown>>;
}

/** Returns the event patterns of the bus rules, by the construct id of the rule. */
function patternsOf(events: readonly EventName[], name: string | undefined): Readonly<Record<string, SelectedEvents>> {
  if (name === undefined) return { Rule: { detailType: [...events] } };
  const named = { [name]: [{ exists: true }] };
  const ofOrders = events.filter((event) => event.startsWith('order.'));
  return {
    Rule: {
      detailType: events.filter((event) => !ofOrders.includes(event)),
      detail: { payment: { metadata: named } },
    },
    ...(ofOrders.length === 0
      ? {}
      : { OrderRule: { detailType: ofOrders, detail: { event: { data: { object: named } } } } }),
  };
}
