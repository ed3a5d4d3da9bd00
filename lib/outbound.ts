import { Duration, Validations } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
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

/**
 * Maximum number of concurrent delayed calls, so that a recovering vendor does not receive all of them at the same
 * time.
 */
const DELAYED_AT_ONCE = 5;

/**
 * Handles vendor calls that were given up. A function makes the last attempt of delayed calls, redrives dead letters,
 * and records the outcomes in the orders. Also creates alarms.
 */
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
      // The function reads payments because it must not call a vendor for a refunded order.
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
    this.redrive.function.addEventSource(
      new SqsEventSource(parties.delayedCalls, {
        batchSize: 1,
        reportBatchItemFailures: true,
        maxConcurrency: DELAYED_AT_ONCE,
      }),
    );
    Validations.of(this.redrive.function).acknowledge({
      id: 'Serverless::Serverless-LambdaEventSourceMappingDestination',
      reason:
        "A queue's event source mapping needs no failure destination: SQS moves the messages to the dead-letter queue.",
    });
    new VendorTrouble(this, 'VendorTrouble', { vendors: VENDORS, deadLetters });
  }
}
