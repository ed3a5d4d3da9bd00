import { Duration, Validations } from 'aws-cdk-lib';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';

export interface TaskQueueProps {
  /** How long the function may run that takes the messages. */
  readonly handlerTimeout: Duration;
  /** How long a message stays hidden that was taken and not acknowledged; no less than the timeout. @default six times the timeout */
  readonly hiddenFor?: Duration;
  /** The number of failures after which a message is dead-lettered. @default 5 */
  readonly tries?: number;
}

/** AWS: "Using Lambda with Amazon SQS" asks for a visibility timeout of six times the function's. */
const VISIBILITY_TIMES = 6;
const DEFAULT_TRIES = 5;
/** The maximum of SQS: a function may be down for long, and an operator needs time for dead letters. */
export const KEPT = Duration.days(14);

/** A queue for a function, with a place for messages that cannot be handled. */
export class TaskQueue extends Construct {
  readonly queue: Queue;
  readonly deadLetters: Queue;

  constructor(scope: Construct, id: string, props: TaskQueueProps) {
    super(scope, id);
    const { handlerTimeout, hiddenFor, tries = DEFAULT_TRIES } = props;
    this.deadLetters = new Queue(this, 'DeadLetters', {
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      retentionPeriod: KEPT,
    });
    Validations.of(this.deadLetters).acknowledge({
      id: 'Serverless::Serverless-SQSRedrivePolicy',
      reason: 'This is the dead-letter queue.',
    });
    this.queue = new Queue(this, 'Queue', {
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      retentionPeriod: KEPT,
      visibilityTimeout: hiddenFor ?? Duration.seconds(handlerTimeout.toSeconds() * VISIBILITY_TIMES),
      deadLetterQueue: { queue: this.deadLetters, maxReceiveCount: tries },
    });
  }
}
