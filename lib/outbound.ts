import { Duration } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { REDRIVE_TIMEOUT_MINUTES } from '../lambdas/kernel/contract/timing.ts';
import { VENDORS } from '../lambdas/orders/contract.ts';
import { EngineFunction } from './constructs/engine-function.ts';
import type { FunctionLogs } from './constructs/payonce-function.ts';
import { VendorTrouble } from './constructs/vendor-trouble.ts';
import type { DataStack } from './data-stack.ts';
import type { Parties } from './parties.ts';

export interface OutboundProps {
  readonly data: Pick<DataStack, 'idempotency' | 'ledger' | 'registry'>;
  readonly parties: Parties;
  readonly logs: FunctionLogs;
}

/** Dead letters of vendor calls: a function that redrives them and records the outcomes in the orders, and alarms. */
export class Outbound extends Construct {
  readonly redrive: EngineFunction;

  constructor(scope: Construct, id: string, { data, parties, logs }: OutboundProps) {
    super(scope, id);
    const { deadLetters } = parties;
    this.redrive = new EngineFunction(this, 'Redrive', {
      ...logs,
      folder: 'dead-letters',
      timeout: Duration.minutes(REDRIVE_TIMEOUT_MINUTES),
      memoryMb: 256,
      data,
      appends: ['order'],
      // Nothing is sent for an order whose money is gone.
      reads: ['payment', 'order'],
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
