import { Duration, RemovalPolicy, Validations } from 'aws-cdk-lib';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { QUEUE_DAYS } from '../../lambdas/kernel/contract/retention.ts';
import { queueEncryption } from './data-key.ts';

export interface DeadLetterQueueProps {
  readonly retain: boolean;
}

export const KEPT = Duration.days(QUEUE_DAYS);

/**
 * Dead-letter queue of vendor calls that were given up. No function is triggered by the queue: an operator fixes the
 * cause and redrives the calls.
 */
export class DeadLetterQueue extends Queue {
  constructor(scope: Construct, id: string, props: DeadLetterQueueProps) {
    super(scope, id, {
      ...queueEncryption(scope),
      enforceSSL: true,
      retentionPeriod: KEPT,
      removalPolicy: props.retain ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY,
    });
    Validations.of(this).acknowledge(
      {
        id: 'AwsSolutions::AwsSolutions-SQS3',
        reason: 'This is the dead-letter queue; a call that cannot be repeated remains in it.',
      },
      {
        id: 'Serverless::Serverless-SQSRedrivePolicy',
        reason: 'This is the dead-letter queue; a call that cannot be repeated remains in it.',
      },
    );
  }
}
