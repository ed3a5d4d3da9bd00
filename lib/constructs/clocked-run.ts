import { type Duration, Validations } from 'aws-cdk-lib';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { Function } from 'aws-cdk-lib/aws-lambda';
import { Schedule, ScheduleExpression } from 'aws-cdk-lib/aws-scheduler';
import { LambdaInvoke } from 'aws-cdk-lib/aws-scheduler-targets';
import { Construct } from 'constructs';

export interface ClockedRunProps {
  readonly description: string;
  readonly every: Duration;
  readonly function: Function;
}

/** Runs a function again and again. A run that is missed or fails is made up for by the next one. */
export class ClockedRun extends Construct {
  constructor(scope: Construct, id: string, props: ClockedRunProps) {
    super(scope, id);
    const role = new Role(this, 'Role', { assumedBy: new ServicePrincipal('scheduler.amazonaws.com') });
    new Schedule(this, 'Schedule', {
      description: props.description,
      schedule: ScheduleExpression.rate(props.every),
      target: new LambdaInvoke(props.function, { role, retryAttempts: 0 }),
    });
    Validations.of(role).acknowledge(
      {
        id: `AwsSolutions::AwsSolutions-IAM5[Resource::<${props.function.stack.getLogicalId(props.function.node.defaultChild as never)}.Arn>:*]`,
        reason: 'The versions and aliases of the one function that the schedule runs; there are none.',
      },
      {
        id: 'PCI.DSS.321::PCI.DSS.321-IAMNoInlinePolicy',
        reason:
          'A role of one schedule has a policy of its own: a managed one could be attached elsewhere or changed alone.',
      },
    );
  }
}
