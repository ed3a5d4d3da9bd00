import { Duration } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { Environment } from '../lambdas/kernel/contract/environment.ts';
import { CONSUMER_TIMEOUT_SECONDS, LETTER_TRIES } from '../lambdas/kernel/contract/events.ts';
import { IdempotencyRow, OperationPrefix, RegistryRow } from '../lambdas/kernel/contract/rows.ts';
import { EventConsumer } from './constructs/event-consumer.ts';
import { PayonceFunction, type PayonceFunctionProps } from './constructs/payonce-function.ts';
import { connectParties } from './parties.ts';
import { allowRows, type ServiceParts } from './service-functions.ts';

/** What a consumer remembers by a business key: whatever it is made to do, no payment's record is among them. */
export const BUSINESS_RECORDS = [`${IdempotencyRow.record}${OperationPrefix.businessKey}`];

/** What follows from a payment beside the views and the webhooks: its receipt, and the commission of whoever brought the customer. */
export function addEventConsumers(scope: Construct, parts: ServiceParts): void {
  commissions(scope, parts);
  // Without a mailer nobody is written to.
  if (parts.data.deadLetters !== undefined) receipts(scope, parts);
}

/** Reads no payment and pays nobody out. */
function commissions(scope: Construct, parts: ServiceParts): void {
  const { data } = parts;
  const made = consumerFunction(scope, 'CommissionConsumer', parts, {
    folder: 'commission-consumer',
    environment: { [Environment.registryTable]: data.registry.tableName },
  });
  allowRows(made, data.idempotency, 'Effects', ['dynamodb:GetItem', 'dynamodb:PutItem'], BUSINESS_RECORDS);
  allowRows(
    made,
    data.registry,
    'KeepCommissions',
    ['dynamodb:PutItem'],
    [RegistryRow.commission, RegistryRow.commissionOfOrder],
  );
  allowRows(
    made,
    data.registry,
    'QueueCommissions',
    ['dynamodb:PutItem', 'dynamodb:DeleteItem'],
    [RegistryRow.commissionDue],
  );
  new EventConsumer(scope, 'CommissionEvents', {
    bus: data.events.bus,
    consumer: made,
    types: ['payment.completed', 'refund.completed', 'refund.failed', 'dispute.closed'],
  });
}

/** Claims, writes to the payer, completes: a claim that it may not read comes back with the write that it refuses. */
function receipts(scope: Construct, parts: ServiceParts): void {
  const { data } = parts;
  const made = consumerFunction(scope, 'ReceiptConsumer', parts, { folder: 'receipt-consumer' });
  allowRows(made, data.idempotency, 'Claims', ['dynamodb:PutItem'], BUSINESS_RECORDS);
  connectParties(made, parts);
  new EventConsumer(scope, 'ReceiptEvents', {
    bus: data.events.bus,
    consumer: made,
    types: ['payment.completed'],
    tries: LETTER_TRIES,
  });
}

function consumerFunction(
  scope: Construct,
  id: string,
  { settings, data }: ServiceParts,
  { folder, environment = {} }: Pick<PayonceFunctionProps, 'folder'> & Partial<PayonceFunctionProps>,
): PayonceFunction {
  return new PayonceFunction(scope, id, {
    folder,
    timeout: Duration.seconds(CONSUMER_TIMEOUT_SECONDS),
    memoryMb: 256,
    logRetentionDays: settings.logRetentionDays,
    retainLogs: settings.retainData,
    environment: { [Environment.idempotencyTable]: data.idempotency.tableName, ...environment },
  });
}
