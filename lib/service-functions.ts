import { Duration } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import { Environment } from '../lambdas/kernel/contract/environment.ts';
import { RegistryRow } from '../lambdas/kernel/contract/rows.ts';
import { CALLBACKS_TIMEOUT_SECONDS, PAYMENTS_TIMEOUT_SECONDS } from '../lambdas/kernel/contract/timing.ts';
import { type DataTable, ofRows } from './constructs/data-table.ts';
import { PayonceFunction, type PayonceFunctionProps } from './constructs/payonce-function.ts';
import type { DataStack } from './data-stack.ts';
import { callbackSources, grantCallbackSecrets, grantClientSecrets, processorEnvironment } from './processors.ts';
import type { Settings } from './settings.ts';

/** What the functions of the service are made from. */
export interface ServiceParts {
  readonly settings: Settings;
  readonly data: DataStack;
  /** The sandbox, where it is deployed; its address is without a trailing slash. */
  readonly sandbox?: { readonly url: string };
}

/** What it may do, and nothing else: claim, append, complete, read. */
export function paymentsFunction(scope: Construct, parts: ServiceParts): PayonceFunction {
  const { settings, data } = parts;
  const { reservedConcurrency } = settings;
  const payments = engineFunction(scope, 'Payments', parts, {
    folder: 'payments',
    timeout: Duration.seconds(PAYMENTS_TIMEOUT_SECONDS),
    memoryMb: settings.memoryMb,
    ...(reservedConcurrency === undefined ? {} : { reservedConcurrency }),
  });
  allow(payments, data.idempotency, 'Claims', ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem']);
  allowRows(payments, data.registry, 'ReadApiKeys', ['dynamodb:GetItem'], [RegistryRow.apiKey]);
  allowRows(
    payments,
    data.registry,
    'WriteReferences',
    ['dynamodb:PutItem'],
    [RegistryRow.reference, RegistryRow.return, RegistryRow.inquiry, RegistryRow.hold],
  );
  return payments;
}

/** Where processors call back: it records, appends and reads, and changes nothing. */
export function callbacksFunction(scope: Construct, parts: ServiceParts): PayonceFunction {
  const { settings, data } = parts;
  const callbacks = engineFunction(scope, 'Callbacks', parts, {
    folder: 'callbacks',
    timeout: Duration.seconds(CALLBACKS_TIMEOUT_SECONDS),
    memoryMb: settings.memoryMb,
    environment: { [Environment.callbackSources]: JSON.stringify(callbackSources(parts)) },
  });
  allow(callbacks, data.idempotency, 'Effects', ['dynamodb:GetItem', 'dynamodb:PutItem']);
  allowRows(
    callbacks,
    data.registry,
    'ShelveOrphans',
    ['dynamodb:PutItem'],
    [RegistryRow.orphan, RegistryRow.return, RegistryRow.openOrder, RegistryRow.hold],
  );
  grantCallbackSecrets(parts, callbacks.role);
  return callbacks;
}

/** The books: it lists them, and appends what an operator sets right. It calls no processor. */
export function ledgerFunction(scope: Construct, { settings, data }: ServiceParts): PayonceFunction {
  const ledger = new PayonceFunction(scope, 'LedgerApi', {
    folder: 'ledger',
    timeout: Duration.seconds(PAYMENTS_TIMEOUT_SECONDS),
    memoryMb: settings.memoryMb,
    logRetentionDays: settings.logRetentionDays,
    retainLogs: settings.retainData,
    environment: {
      [Environment.idempotencyTable]: data.idempotency.tableName,
      [Environment.ledgerTable]: data.ledger.table.tableName,
      [Environment.registryTable]: data.registry.tableName,
    },
  });
  data.ledger.grantAppend(ledger.role);
  data.ledger.grantRead(ledger.role);
  allow(ledger, data.idempotency, 'Effects', ['dynamodb:GetItem', 'dynamodb:PutItem']);
  allowRows(ledger, data.registry, 'ReadApiKeys', ['dynamodb:GetItem'], [RegistryRow.apiKey]);
  return ledger;
}

type Own = Pick<PayonceFunctionProps, 'folder' | 'timeout' | 'memoryMb' | 'reservedConcurrency'> &
  Partial<Pick<PayonceFunctionProps, 'environment'>>;

/** A function that appends to the Ledger and asks the processor. */
export function engineFunction(
  scope: Construct,
  id: string,
  parts: ServiceParts,
  { environment = {}, ...own }: Own,
): PayonceFunction {
  const { settings, data } = parts;
  const made = new PayonceFunction(scope, id, {
    ...own,
    logRetentionDays: settings.logRetentionDays,
    retainLogs: settings.retainData,
    environment: {
      ...engineEnvironment(parts),
      ...environment,
    },
  });
  data.ledger.grantAppend(made.role);
  data.ledger.grantRead(made.role);
  grantClientSecrets(parts, made.role);
  return made;
}

/** What `readPaymentsConfig` reads. */
export function engineEnvironment(parts: ServiceParts): PayonceFunctionProps['environment'] {
  const { data } = parts;
  return {
    [Environment.idempotencyTable]: data.idempotency.tableName,
    [Environment.ledgerTable]: data.ledger.table.tableName,
    [Environment.registryTable]: data.registry.tableName,
    ...processorEnvironment(parts),
  };
}

export function allow(grantee: PayonceFunction, table: DataTable, sid: string, actions: string[]): void {
  grantee.role.addToPrincipalPolicy(new PolicyStatement({ sid, actions, resources: [table.tableArn] }));
}

/** Actions on the rows of some kinds: a function that takes payments can make no API key, whatever it is made to do. */
export function allowRows(
  grantee: PayonceFunction,
  table: DataTable,
  sid: string,
  actions: string[],
  rows: readonly string[],
): void {
  grantee.role.addToPrincipalPolicy(
    new PolicyStatement({
      sid,
      actions,
      resources: [table.tableArn],
      conditions: ofRows(rows),
    }),
  );
}
