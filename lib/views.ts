import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { ALL_EVENTS } from '../lambdas/events/contract.ts';
import { Environment } from '../lambdas/kernel/contract/environment.ts';
import { CONSUMER_TIMEOUT_SECONDS } from '../lambdas/kernel/contract/events.ts';
import { RegistryRow, ViewsRow } from '../lambdas/kernel/contract/rows.ts';
import { ViewsTable } from '../lambdas/kernel/contract/tables.ts';
import { EventConsumer } from './constructs/event-consumer.ts';
import { type FunctionLogs, PayonceFunction } from './constructs/payonce-function.ts';
import type { DataStack } from './data-stack.ts';

export interface ViewsProps {
  readonly data: Pick<DataStack, 'events' | 'registry' | 'views'>;
  readonly logs: FunctionLogs;
}

/** What lists and balances are read from: one function writes it, from events; others are granted the kinds of rows that they list. */
export class Views extends Construct {
  readonly projector: PayonceFunction;
  readonly #data: ViewsProps['data'];

  constructor(scope: Construct, id: string, { data, logs }: ViewsProps) {
    super(scope, id);
    this.#data = data;
    // It reads no Ledger and knows no key.
    this.projector = new PayonceFunction(this, 'Projector', {
      ...logs,
      folder: 'views-projector',
      timeout: Duration.seconds(CONSUMER_TIMEOUT_SECONDS),
      memoryMb: 256,
      environment: { [Environment.viewsTable]: data.views.tableName },
    });
    this.#grantWrite(this.projector, 'Project');
    new EventConsumer(this, 'Events', { bus: data.events.bus, consumer: this.projector, events: ALL_EVENTS });
  }

  /** Lets `grantee` list payments. */
  grantListPayments(grantee: PayonceFunction): void {
    this.#grantList(grantee, [ViewsRow.payment, ViewsRow.reference]);
    const views = this.#data.views;
    views.grantRowsOfIndex(grantee, 'ListByStatus', ViewsTable.listsIndex.name, [ViewsRow.payment]);
    // The payments of a reference are found by its rows.
    views.grantRows(grantee, 'ReadHeads', ['dynamodb:GetItem'], [ViewsRow.payment]);
  }

  /** Lets `grantee` list events. */
  grantListEvents(grantee: PayonceFunction): void {
    this.#grantList(grantee, [ViewsRow.event]);
    this.#data.views.grantRowsOfIndex(grantee, 'ListByType', ViewsTable.listsIndex.name, [ViewsRow.event]);
  }

  /** Lets `grantee` list entries of the books and mismatches, and add entries up. */
  grantReadBooks(grantee: PayonceFunction): void {
    this.#grantList(grantee, [ViewsRow.book, ViewsRow.total, ViewsRow.mismatch]);
  }

  /** Lets a worker of jobs keep the views of every owner: it adds days up, and lists the differences that it finds. */
  grantKeep(worker: PayonceFunction): void {
    worker.tell({ [Environment.viewsTable]: this.#data.views.tableName });
    this.#grantWrite(worker, 'KeepViews');
    this.#data.registry.grantRows(worker, 'FindOwners', ['dynamodb:Query'], [RegistryRow.owners]);
  }

  #grantList(grantee: PayonceFunction, rows: readonly string[]): void {
    grantee.tell({ [Environment.viewsTable]: this.#data.views.tableName });
    this.#data.views.grantRows(grantee, 'ListViews', ['dynamodb:Query'], rows);
  }

  #grantWrite(grantee: PayonceFunction, sid: string): void {
    const actions = ['dynamodb:GetItem', 'dynamodb:Query', 'dynamodb:PutItem', 'dynamodb:DeleteItem'];
    this.#data.views.grantActions(grantee, sid, actions);
  }
}
