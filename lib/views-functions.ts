import { Duration } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import { Environment } from '../lambdas/kernel/contract/environment.ts';
import { CONSUMER_TIMEOUT_SECONDS } from '../lambdas/kernel/contract/events.ts';
import { RegistryRow, ViewsRow } from '../lambdas/kernel/contract/rows.ts';
import { PAYMENTS_TIMEOUT_SECONDS } from '../lambdas/kernel/contract/timing.ts';
import { ofRows } from './constructs/data-table.ts';
import { EventConsumer } from './constructs/event-consumer.ts';
import { PayonceFunction } from './constructs/payonce-function.ts';
import type { DataStack } from './data-stack.ts';
import type { ServiceParts } from './service-functions.ts';

/** Kinds of rows in the Views, by the beginning of their partitions. */
const PAYMENT_ROWS = [ViewsRow.payment, ViewsRow.reference];
const BOOK_ROWS = [ViewsRow.book, ViewsRow.total, ViewsRow.mismatch];
const EVENT_ROWS = [ViewsRow.event];

/** Writes the Views, and nothing else: it reads no Ledger and knows no key. */
export function projector(scope: Construct, { settings, data }: ServiceParts): EventConsumer {
  const made = new PayonceFunction(scope, 'ViewsProjector', {
    folder: 'views-projector',
    timeout: Duration.seconds(CONSUMER_TIMEOUT_SECONDS),
    memoryMb: 256,
    logRetentionDays: settings.logRetentionDays,
    retainLogs: settings.retainData,
    environment: { [Environment.viewsTable]: data.views.tableName },
  });
  made.role.addToPrincipalPolicy(
    new PolicyStatement({
      sid: 'Project',
      actions: ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:DeleteItem', 'dynamodb:Query'],
      resources: [data.views.tableArn],
    }),
  );
  return new EventConsumer(scope, 'ViewsEvents', { bus: data.events.bus, consumer: made });
}

/** Shows events: it reads, and writes nothing. */
export function eventsFunction(scope: Construct, { settings, data }: ServiceParts): PayonceFunction {
  const made = new PayonceFunction(scope, 'EventsApi', {
    folder: 'events',
    timeout: Duration.seconds(PAYMENTS_TIMEOUT_SECONDS),
    memoryMb: settings.memoryMb,
    logRetentionDays: settings.logRetentionDays,
    retainLogs: settings.retainData,
    environment: {
      [Environment.ledgerTable]: data.ledger.table.tableName,
      [Environment.registryTable]: data.registry.tableName,
      [Environment.viewsTable]: data.views.tableName,
    },
  });
  made.role.addToPrincipalPolicy(
    new PolicyStatement({
      sid: 'ReadTransitions',
      actions: ['dynamodb:GetItem'],
      resources: [data.ledger.table.tableArn],
    }),
  );
  readRows(made, data.registry.tableArn, 'ReadApiKeys', 'dynamodb:GetItem', [RegistryRow.apiKey]);
  readRows(made, data.views.tableArn, 'ListEvents', 'dynamodb:Query', EVENT_ROWS);
  return made;
}

/** Lets the payments function list payments. */
export function allowPaymentLists(payments: PayonceFunction, { views }: DataStack): void {
  allowLists(payments, views, PAYMENT_ROWS);
}

/** Lets the ledger function list entries and mismatches, and add entries up. */
export function allowBookLists(ledger: PayonceFunction, { views }: DataStack): void {
  allowLists(ledger, views, BOOK_ROWS);
}

function allowLists(grantee: PayonceFunction, views: DataStack['views'], rows: readonly string[]): void {
  grantee.function.addEnvironment(Environment.viewsTable, views.tableName);
  readRows(grantee, views.tableArn, 'ListViews', 'dynamodb:Query', rows);
}

function readRows(
  { role }: PayonceFunction,
  tableArn: string,
  sid: string,
  action: string,
  rows: readonly string[],
): void {
  role.addToPrincipalPolicy(
    new PolicyStatement({
      sid,
      actions: [action],
      resources: [tableArn],
      conditions: ofRows(rows),
    }),
  );
}
