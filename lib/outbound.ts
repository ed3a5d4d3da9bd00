import { Duration } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { REDRIVE_TIMEOUT_MINUTES } from '../lambdas/kernel/contract/timing.ts';
import { VENDORS } from '../lambdas/orders/contract.ts';
import { type FunctionLogs, PayonceFunction } from './constructs/payonce-function.ts';
import { VendorTrouble } from './constructs/vendor-trouble.ts';
import type { Parties } from './parties.ts';

export interface OutboundProps {
  readonly parties: Parties;
  readonly logs: FunctionLogs;
}

/** Looks after calls to vendors that were given up: a function makes them again when an operator asks, and alarms tell of them. */
export class Outbound extends Construct {
  readonly redrive: PayonceFunction;

  constructor(scope: Construct, id: string, { parties, logs }: OutboundProps) {
    super(scope, id);
    const { deadLetters } = parties;
    this.redrive = new PayonceFunction(this, 'Redrive', {
      ...logs,
      folder: 'dead-letters',
      timeout: Duration.minutes(REDRIVE_TIMEOUT_MINUTES),
      memoryMb: 256,
      environment: {},
    });
    parties.grantCall(this.redrive);
    this.redrive.role.addToPrincipalPolicy(
      new PolicyStatement({
        sid: 'TakeLetters',
        actions: ['sqs:ReceiveMessage', 'sqs:ChangeMessageVisibility', 'sqs:DeleteMessage'],
        resources: [deadLetters.queueArn],
      }),
    );
    new VendorTrouble(this, 'VendorTrouble', { vendors: VENDORS, deadLetters });
  }
}
