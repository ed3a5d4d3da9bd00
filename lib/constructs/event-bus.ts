import { Aws, Duration, Fn, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Archive, EventBus as Bus, type CfnArchive } from 'aws-cdk-lib/aws-events';
import { type IGrantable, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { EVENT_SOURCE, REPLAY_HORIZON_DAYS } from '../../lambdas/kernel/contract/events.ts';

export interface EventBusProps {
  readonly retain: boolean;
  readonly archive: boolean;
}

/** The event bus and, with `archive`, an archive from which events can be replayed (docs/guides/events.md). */
export class EventBus extends Construct {
  readonly bus: Bus;

  constructor(scope: Construct, id: string, props: EventBusProps) {
    super(scope, id);
    const removal = props.retain ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY;
    const { stackName } = Stack.of(this);
    // CloudFormation does not generate names for buses, so the name contains a random part of the stack id. Without
    // this part, a bus that was retained from a deleted stack would block the next stack's bus.
    const ofThisStack = Fn.select(0, Fn.split('-', Fn.select(2, Fn.split('/', Aws.STACK_ID))));
    this.bus = new Bus(this, 'Bus', {
      eventBusName: `${stackName}-${ofThisStack}`,
      description: 'Payonce: payment events',
    });
    this.bus.applyRemovalPolicy(removal);
    if (!props.archive) return;
    const archive = new Archive(this, 'Archive', {
      sourceEventBus: this.bus,
      description: 'Events of the last two weeks, to be replayed to a consumer',
      eventPattern: { source: [EVENT_SOURCE] },
      retention: Duration.days(REPLAY_HORIZON_DAYS),
    });
    (archive.node.defaultChild as CfnArchive).applyRemovalPolicy(removal);
  }

  grantPublish({ grantPrincipal }: IGrantable): void {
    const { eventBusArn } = this.bus;
    grantPrincipal.addToPrincipalPolicy(
      new PolicyStatement({ sid: 'PutEvents', actions: ['events:PutEvents'], resources: [eventBusArn] }),
    );
  }
}
