import { RemovalPolicy, Validations } from 'aws-cdk-lib';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';

export interface RetainedLogGroupProps {
  /** @default made by CloudFormation */
  readonly name?: string;
  /** One of the values that CloudWatch Logs allows. */
  readonly retentionDays: number;
  /** Keep the logs when the stack goes. */
  readonly retain: boolean;
}

/** A log group with a retention: without one, logs are stored and charged permanently. */
export class RetainedLogGroup extends LogGroup {
  constructor(scope: Construct, id: string, props: RetainedLogGroupProps) {
    super(scope, id, {
      ...(props.name === undefined ? {} : { logGroupName: props.name }),
      retention: props.retentionDays,
      removalPolicy: props.retain ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
    });
    Validations.of(this).acknowledge({
      id: 'PCI.DSS.321::PCI.DSS.321-CloudWatchLogGroupEncrypted',
      reason: 'CloudWatch Logs encrypts at rest by itself, and no card number, key or body is ever logged.',
    });
  }
}
