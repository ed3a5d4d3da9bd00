import { CfnOutput, Duration, Stack } from 'aws-cdk-lib';
import { type IEventBus, Rule } from 'aws-cdk-lib/aws-events';
import { SqsQueue } from 'aws-cdk-lib/aws-events-targets';
import { ManagedPolicy, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { ALL_EVENTS } from '../lambdas/events/contract.ts';
import { StackOutput } from '../lambdas/kernel/contract/api.ts';
import { EVENT_SOURCE } from '../lambdas/kernel/contract/events.ts';
import { RunbookAlarm } from './constructs/runbook-alarm.ts';
import { TaskQueue } from './constructs/task-queue.ts';
import type { DataStack } from './data-stack.ts';

export interface NatsBridgeProps {
  readonly data: Pick<DataStack, 'events'>;
  /** The queue of payment requests. @default NATS messages cannot request payments */
  readonly requests?: Queue;
}

/**
 * Visibility timeout of an event while the bridge publishes it. If the timeout passes, the event is published again
 * with the same id. The timeout must therefore be shorter than the duplicate window of the stream, by default 2 minutes
 * (NATS documentation, "Streams").
 */
const HIDDEN = Duration.seconds(30);
const EVERY_MINUTE = { period: Duration.minutes(1), statistic: 'Maximum' };
/**
 * Time for which EventBridge retries a delivery, set to the maximum (Amazon EventBridge user guide, "Retry policy").
 */
const DELIVER_FOR = Duration.hours(24);
const LONGEST_WAIT = Duration.minutes(10);

/**
 * The resources of the NATS bridge in the account: a queue of all events, and a policy for the role or user of the
 * bridge.
 */
export class NatsBridge extends Construct {
  constructor(scope: Construct, id: string, { data, requests }: NatsBridgeProps) {
    super(scope, id);
    const { queue, deadLetters } = new TaskQueue(this, 'Tasks', { handlerTimeout: HIDDEN, hiddenFor: HIDDEN });
    new Rule(this, 'Rule', {
      // The cast is needed because CDK's class and its interface differ in an optional property.
      eventBus: data.events.bus as unknown as IEventBus,
      eventPattern: { source: [EVENT_SOURCE], detailType: [...ALL_EVENTS] },
      targets: [new SqsQueue(queue, { deadLetterQueue: deadLetters, maxEventAge: DELIVER_FOR })],
    });
    const allow = (sid: string, actions: readonly string[], { queueArn }: Queue) =>
      new PolicyStatement({ sid, actions: [...actions], resources: [queueArn] });
    const policy = new ManagedPolicy(this, 'Policy', {
      description: 'For the bridge between NATS and Payonce.',
      statements: [
        allow('TakeEvents', ['sqs:ReceiveMessage', 'sqs:DeleteMessage'], queue),
        allow('ParkEvents', ['sqs:SendMessage'], deadLetters),
        ...(requests === undefined ? [] : [allow('SendRequests', ['sqs:SendMessage'], requests)]),
      ],
    });
    const outputs = {
      [StackOutput.natsEventsQueue]: queue.queueUrl,
      [StackOutput.natsParkingQueue]: deadLetters.queueUrl,
      [StackOutput.natsBridgePolicy]: policy.managedPolicyArn,
    };
    for (const [name, value] of Object.entries(outputs)) new CfnOutput(Stack.of(this), name, { value });
    new RunbookAlarm(this, 'EventsParked', {
      description: 'Events could not be published to NATS and were parked or dead-lettered.',
      entry: 'events.md#the-bridge-of-nats',
      metric: deadLetters.metricApproximateNumberOfMessagesVisible({ ...EVERY_MINUTE }),
      threshold: 1,
    });
    new RunbookAlarm(this, 'EventsWait', {
      description: 'Events are waiting for the NATS bridge: the bridge is down, or JetStream does not store them.',
      entry: 'events.md#the-bridge-of-nats',
      metric: queue.metricApproximateAgeOfOldestMessage({ ...EVERY_MINUTE }),
      threshold: LONGEST_WAIT.toSeconds(),
    });
  }
}
