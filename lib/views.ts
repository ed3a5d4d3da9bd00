import { Duration } from 'aws-cdk-lib';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { ALL_EVENTS } from '../lambdas/events/contract.ts';
import { Environment, PROJECTOR_QUEUE_URL } from '../lambdas/kernel/contract/environment.ts';
import { CONSUMER_TIMEOUT_SECONDS } from '../lambdas/kernel/contract/events.ts';
import { EmailRow, RegistryRow, ViewsRow } from '../lambdas/kernel/contract/rows.ts';
import { ViewsTable } from '../lambdas/kernel/contract/tables.ts';
import { EventConsumer } from './constructs/event-consumer.ts';
import { type FunctionLogs, PayonceFunction } from './constructs/payonce-function.ts';
import type { DataStack } from './data-stack.ts';

/**
 * Maximum number of concurrent projector batches, enough for 2,000 events per second (test/bench/event-rate.test.ts).
 */
const PROJECTIONS = 50;

export interface ViewsProps {
  readonly data: Pick<DataStack, 'emailKeys' | 'events' | 'registry' | 'views'>;
  readonly logs: FunctionLogs;
}

/**
 * The read models of lists and balances. The projector writes them from events, and a jobs worker adds daily totals and
 * mismatches. Every other function may read only the rows of the lists that it serves.
 */
export class Views extends Construct {
  readonly projector: PayonceFunction;
  readonly #data: ViewsProps['data'];
  readonly #queue: Queue;

  constructor(scope: Construct, id: string, { data, logs }: ViewsProps) {
    super(scope, id);
    this.#data = data;
    // The projector has no access to the Ledger or to API keys.
    this.projector = new PayonceFunction(this, 'Projector', {
      ...logs,
      folder: 'views-projector',
      timeout: Duration.seconds(CONSUMER_TIMEOUT_SECONDS),
      memoryMb: 1_024,
      environment: { [Environment.viewsTable]: data.views.tableName },
    });
    this.#grantWrite(this.projector, 'Project', ['dynamodb:BatchGetItem', 'dynamodb:BatchWriteItem']);
    const { tasks } = new EventConsumer(this, 'Events', {
      bus: data.events.bus,
      consumer: this.projector,
      events: ALL_EVENTS,
      concurrency: PROJECTIONS,
    });
    this.#queue = tasks.queue;
  }

  /**
   * Allows each of these functions to read the rows of its own lists, and to find payments or orders by e-mail address.
   *
   * @param api the functions of the APIs; `orders` is undefined without an orders API
   */
  grantLists(api: { readonly reads: PayonceFunction; readonly orders: PayonceFunction | undefined }): void {
    const { views } = this.#data;
    const { payment, reference, dispute, order, event, book, total } = ViewsRow;
    const { name: index } = ViewsTable.listsIndex;
    // Balances and volume reports sum the totals of closed days and the rows of open days.
    this.#grantList(api.reads, [payment, reference, dispute, event, book, total]);
    views.grantRowsOfIndex(api.reads, 'ListByStatusOrType', index, [payment, event]);
    views.grantRows(api.reads, 'ReadHeads', ['dynamodb:GetItem'], [payment]);
    this.#grantEmails(api.reads, EmailRow.payment);
    if (api.orders !== undefined) {
      this.#grantList(api.orders, [order]);
      views.grantRowsOfIndex(api.orders, 'ListByStatus', index, [order]);
      this.#grantEmails(api.orders, EmailRow.order);
    }
  }

  /** Allows `grantee` to search payments, and to list mismatches and reviews. */
  grantSearch(grantee: PayonceFunction): void {
    const { allMismatches, payment, reference, reviews } = ViewsRow;
    const { views } = this.#data;
    grantee.setEnvironment({ [Environment.viewsTable]: views.tableName });
    // A single statement, because the policy of this role is close to the maximum size.
    const read = ['dynamodb:GetItem', 'dynamodb:Query'];
    views.grantRows(grantee, 'ListViews', read, [allMismatches, payment, reference, reviews]);
    this.#grantEmails(grantee, EmailRow.payment);
  }

  /**
   * Allows a jobs worker to maintain the views of all owners: to write daily totals and mismatches, and to read how far
   * the views have progressed.
   */
  grantKeep(worker: PayonceFunction): void {
    worker.setEnvironment({
      [Environment.viewsTable]: this.#data.views.tableName,
      [PROJECTOR_QUEUE_URL]: this.#queue.queueUrl,
    });
    worker.allow('CountUnprojected', 'sqs:GetQueueAttributes', this.#queue.queueArn);
    this.#grantWrite(worker, 'KeepViews');
    this.#data.registry.grantRows(worker, 'FindOwners', ['dynamodb:Query'], [RegistryRow.owners]);
  }

  #grantEmails(grantee: PayonceFunction, kind: (typeof EmailRow)[keyof typeof EmailRow]): void {
    const { emailKeys, registry } = this.#data;
    grantee.setEnvironment({ [Environment.emailKeysSecretId]: emailKeys.arn });
    emailKeys.grantReadTo(grantee);
    registry.grantFindByEmail(grantee, kind);
  }

  #grantList(grantee: PayonceFunction, rows: readonly string[]): void {
    grantee.setEnvironment({ [Environment.viewsTable]: this.#data.views.tableName });
    this.#data.views.grantRows(grantee, 'ListViews', ['dynamodb:Query'], rows);
  }

  #grantWrite(grantee: PayonceFunction, sid: string, more: readonly string[] = []): void {
    const actions = ['dynamodb:GetItem', 'dynamodb:Query', 'dynamodb:PutItem', 'dynamodb:DeleteItem', ...more];
    this.#data.views.grantActions(grantee, sid, actions);
  }
}
