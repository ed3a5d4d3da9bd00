import { Duration, Validations } from 'aws-cdk-lib';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { QUEUE_DAYS } from '../../lambdas/kernel/contract/retention.ts';
import { maxReceives } from '../../lambdas/kernel/contract/timing.ts';
import { queueEncryption } from './data-key.ts';

export interface TaskQueueProps {
  readonly handlerTimeout: Duration;
  /** Visibility timeout of a received message; at least the function's timeout. @default six times the timeout */
  readonly hiddenFor?: Duration;
  /** @default a separate queue */
  readonly deadLetters?: Queue;
}

/** AWS recommends six ("Using Lambda with Amazon SQS"). */
const VISIBILITY_TIMES = 6;
/**
 * Retention of messages: the SQS maximum, because outages can be long and operators need time to handle dead
 * letters.
 */
export const KEPT = Duration.days(QUEUE_DAYS);

/** A queue for a function, with a dead-letter queue for messages that could not be processed for hours. */
export class TaskQueue extends Construct {
  readonly queue: Queue;
  readonly deadLetters: Queue;

  constructor(scope: Construct, id: string, props: TaskQueueProps) {
    super(scope, id);
    const { handlerTimeout, hiddenFor } = props;
    this.deadLetters = props.deadLetters ?? this.#makeDeadLetters();
    const hidden = hiddenFor ?? Duration.seconds(handlerTimeout.toSeconds() * VISIBILITY_TIMES);
    this.queue = new Queue(this, 'Queue', {
      ...queueEncryption(this),
      enforceSSL: true,
      retentionPeriod: KEPT,
      visibilityTimeout: hidden,
      deadLetterQueue: { queue: this.deadLetters, maxReceiveCount: maxReceives(hidden.toSeconds()) },
    });
  }

  #makeDeadLetters(): Queue {
    const queue = new Queue(this, 'DeadLetters', {
      ...queueEncryption(this),
      enforceSSL: true,
      retentionPeriod: KEPT,
    });
    Validations.of(queue).acknowledge({
      id: 'Serverless::Serverless-SQSRedrivePolicy',
      reason: 'This is the dead-letter queue.',
    });
    return queue;
  }
}
