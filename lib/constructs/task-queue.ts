import { Duration, Validations } from 'aws-cdk-lib';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';

export interface TaskQueueProps {
  /** How long the function may run that takes the messages. */
  readonly handlerTimeout: Duration;
}

/** AWS: "Using Lambda with Amazon SQS" asks for a visibility timeout of six times the function's. */
const VISIBILITY_TIMES = 6;
/** A message that fails so often is set aside. */
const MAX_RECEIVES = 5;
/** As long as SQS keeps a message at all, so that somebody can look at it. */
const KEPT = Duration.days(14);

/** A queue for a function, with a place for messages that cannot be handled. */
export class TaskQueue extends Construct {
  readonly queue: Queue;
  readonly deadLetters: Queue;

  constructor(scope: Construct, id: string, props: TaskQueueProps) {
    super(scope, id);
    this.deadLetters = new Queue(this, 'DeadLetters', {
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      retentionPeriod: KEPT,
    });
    Validations.of(this.deadLetters).acknowledge({
      id: 'Serverless::Serverless-SQSRedrivePolicy',
      reason: 'It is where messages are set aside: there is no further place.',
    });
    this.queue = new Queue(this, 'Queue', {
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      visibilityTimeout: Duration.seconds(props.handlerTimeout.toSeconds() * VISIBILITY_TIMES),
      deadLetterQueue: { queue: this.deadLetters, maxReceiveCount: MAX_RECEIVES },
    });
  }
}
