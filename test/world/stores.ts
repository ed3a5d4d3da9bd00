import { DeleteCommand, TransactWriteCommand } from '@aws-sdk/lib-dynamodb';
import type { ActivityDraft } from '../../lambdas/activity/domain/activity.ts';
import { DynamoDbActivity, eraseDetails } from '../../lambdas/activity/store/dynamodb-activity.ts';
import type { ActivityLog } from '../../lambdas/activity/use/activity-log.ts';
import type { PostgresAuthority } from '../../lambdas/authority/postgres-authority.ts';
import { DynamoDbCommissions } from '../../lambdas/follow-ups/store/dynamodb-commissions.ts';
import type { JobRun } from '../../lambdas/jobs/domain/job-run.ts';
import { DynamoDbJobMarks } from '../../lambdas/jobs/store/dynamodb-job-marks.ts';
import { DynamoDbJobRuns } from '../../lambdas/jobs/store/dynamodb-job-runs.ts';
import { parseRun } from '../../lambdas/jobs/store/job-items.ts';
import { LedgerRow, RegistryRow } from '../../lambdas/kernel/contract/rows.ts';
import { LedgerTable } from '../../lambdas/kernel/contract/tables.ts';
import type { OperationId, OrderId, PaymentId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import type { Due } from '../../lambdas/kernel/looks.ts';
import type { Pacing } from '../../lambdas/kernel/platform/attempts.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { Clock } from '../../lambdas/kernel/world.ts';
import type { Consumption } from '../../lambdas/once/domain/consumption.ts';
import { ProcessReplayCache } from '../../lambdas/once/process-records.ts';
import { parseConsumption } from '../../lambdas/once/store/consumer-items.ts';
import { DynamoDbConsumerRecords } from '../../lambdas/once/store/dynamodb-consumer-records.ts';
import { operationOfKey, recordKey } from '../../lambdas/once/store/record-items.ts';
import type { RowKey } from '../../lambdas/once/use/consumer-records.ts';
import type { ReplayCache } from '../../lambdas/once/use/operation-runner.ts';
import { DynamoDbApprovals } from '../../lambdas/operators/store/dynamodb-approvals.ts';
import type { ApprovalChange, ApprovingStore } from '../../lambdas/operators/use/approving-store.ts';
import { DynamoDbEmailCounts } from '../../lambdas/orders/store/dynamodb-email-counts.ts';
import { DynamoDbOrders } from '../../lambdas/orders/store/dynamodb-orders.ts';
import { LedgerChains } from '../../lambdas/orders/store/ledger-chains.ts';
import type { OrderAppend, OrderClaim, OrderCommit, OrderStore } from '../../lambdas/orders/use/order-store.ts';
import { DynamoDbSendingClaims } from '../../lambdas/outbound/store/dynamodb-sending-claims.ts';
import type { OutcomePlace, Transition } from '../../lambdas/payments/domain/transition.ts';
import { type ChainId, isOrderId } from '../../lambdas/payments/ids.ts';
import { DynamoDbStore } from '../../lambdas/payments/store/dynamodb-store.ts';
import { appendItem, detailsPuts, parseTransition } from '../../lambdas/payments/store/items.ts';
import { HOLDS } from '../../lambdas/payments/store/queue-items.ts';
import type { Effect, OrphanedCallback } from '../../lambdas/payments/use/effect-store.ts';
import type {
  ChargeToReturn,
  Hold,
  Inquiry,
  OpenOrder,
  TransitionPage,
} from '../../lambdas/payments/use/payment-store.ts';
import type { OrphanStore, UnfinishedWork } from '../../lambdas/payments/use/unfinished-work.ts';
import { DynamoDbDueQueue } from '../../lambdas/resolving/store/dynamodb-due-queue.ts';
import { DynamoDbUnfinishedWork } from '../../lambdas/resolving/store/dynamodb-unfinished.ts';
import type { DueQueue } from '../../lambdas/resolving/use/due-queue.ts';
import { DynamoDbLedgerScan } from '../../lambdas/views/store/dynamodb-ledger-scan.ts';
import { DynamoDbWebhooks } from '../../lambdas/webhooks/store/dynamodb-webhooks.ts';
import { BY_OPERATOR } from '../support/causes.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { ALL_DUE } from '../support/due.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import type { Item } from './dynamodb-values.ts';
import { MemoryDynamoDb, type MemoryDynamoDbOptions } from './memory-dynamodb.ts';
import { TABLE_SHAPES, TABLES } from './tables.ts';

export function emptyTables(
  clock: Pick<Clock, 'nowMs'> = new SimulatedClock(),
  options: Pick<MemoryDynamoDbOptions, 'pageBytes'> = {},
): MemoryDynamoDb {
  return new MemoryDynamoDb({ ...options, tables: TABLE_SHAPES, nowMs: () => clock.nowMs() });
}

/** The stores of the rows that the authority contains, except payments. */
export interface AuthorityParts {
  readonly effects: ApprovingStore;
  readonly orphans: OrphanStore;
  readonly work: UnfinishedWork;
  readonly orders: OrderStore;
  readonly holds: DueQueue<Hold>;
  readonly postgres?: PostgresAuthority;
  readonly newReplays?: () => ReplayCache;
  /** The rows of the authority, as the items that DynamoDB would contain. */
  readonly rows?: MemoryDynamoDb;
  readonly deleteRecord?: (operationId: OperationId) => void;
}

/** Production stores of payments, orders and queues in one object, by default with in-memory tables. */
export class Stores extends DynamoDbStore implements ApprovingStore, OrphanStore, UnfinishedWork, OrderStore {
  /** If the stores use other tables, only `client` exists. */
  readonly database: MemoryDynamoDb;
  readonly ledger: LedgerChains;
  readonly holds: DueQueue<Hold>;
  readonly jobRuns: DynamoDbJobRuns;
  readonly jobMarks: DynamoDbJobMarks;
  readonly consumed: DynamoDbConsumerRecords;
  readonly commissions: DynamoDbCommissions;
  readonly webhooks: DynamoDbWebhooks;
  readonly activity: DynamoDbActivity;
  /** The log of the actions whose effects the authority contains. With DynamoDB, it is `activity`. */
  readonly moneyActivity: ActivityLog;
  readonly ledgerScan: DynamoDbLedgerScan;
  /** The rows of the authority, as DynamoDB contains them if it is the authority. */
  readonly rows: MemoryDynamoDb;
  readonly postgres: PostgresAuthority | undefined;
  readonly newReplays: () => ReplayCache;
  readonly #deleteRecord: (operationId: OperationId) => void;
  readonly #pacing: Pacing;
  readonly #effects: ApprovingStore;
  readonly #orphans: OrphanStore;
  readonly #work: UnfinishedWork;
  readonly #orders: OrderStore;

  /** @param parts stores of the authority @default the authority is DynamoDB */
  constructor(
    clock: Clock = new SimulatedClock(),
    database: Pick<MemoryDynamoDb, 'client'> = emptyTables(clock),
    tables: Readonly<Record<keyof typeof TABLES, string>> = TABLES,
    parts?: AuthorityParts,
  ) {
    const { client } = database;
    const pacing = { clock, entropy: countingEntropy() };
    super(client, tables, pacing);
    this.database = database as MemoryDynamoDb;
    this.#pacing = pacing;
    this.ledger = new LedgerChains(client, tables, pacing);
    this.jobRuns = new DynamoDbJobRuns(client, tables, pacing);
    this.jobMarks = new DynamoDbJobMarks(client, tables.registry, pacing);
    this.consumed = new DynamoDbConsumerRecords(client, tables, pacing);
    const unreadable = (error: unknown): never => {
      throw error;
    };
    const queues = { client, table: tables.registry, pacing, unreadable };
    this.webhooks = new DynamoDbWebhooks(client, tables, pacing);
    this.activity = new DynamoDbActivity(client, tables, pacing);
    this.ledgerScan = new DynamoDbLedgerScan(client, tables.ledger, pacing);
    this.commissions = new DynamoDbCommissions(queues);
    const effects = new DynamoDbApprovals(client, tables, pacing, this);
    this.#effects = parts?.effects ?? effects;
    this.#orphans = parts?.orphans ?? effects;
    this.#work = parts?.work ?? new DynamoDbUnfinishedWork(client, tables, pacing);
    this.#orders = parts?.orders ?? new DynamoDbOrders(client, tables, pacing, this);
    this.holds = parts?.holds ?? new DynamoDbDueQueue(queues, HOLDS);
    this.postgres = parts?.postgres;
    this.moneyActivity = parts?.postgres?.activity ?? this.activity;
    this.newReplays = parts?.newReplays ?? (() => new ProcessReplayCache());
    this.rows = parts?.rows ?? this.database;
    this.#deleteRecord =
      parts?.deleteRecord ??
      // The deletion need not be awaited, because the in-memory call takes effect synchronously.
      ((id) => void client.send(new DeleteCommand({ TableName: tables.idempotency, Key: recordKey(id) })));
  }

  sendingClaims(vendor: string): DynamoDbSendingClaims {
    return new DynamoDbSendingClaims(this.database.client, TABLES.registry, this.#pacing, vendor);
  }

  /**
   * @param most maximum number of e-mails to one recipient per day
   *
   * @default the default limit of a deployment
   */
  emailCounts(most = 20): DynamoDbEmailCounts {
    return new DynamoDbEmailCounts(
      this.database.client,
      TABLES.registry,
      { ...this.#pacing, digest: systemDigest },
      most,
    );
  }

  recordEffect(effect: Effect & ApprovalChange): ReturnType<ApprovingStore['recordEffect']> {
    return this.#effects.recordEffect(effect);
  }

  queueOrNote(...asked: Parameters<ApprovingStore['queueOrNote']>): Promise<void> {
    return this.#effects.queueOrNote(...asked);
  }

  readEffect(operationId: OperationId): ReturnType<ApprovingStore['readEffect']> {
    return this.#effects.readEffect(operationId);
  }

  readApproval(id: string): ReturnType<ApprovingStore['readApproval']> {
    return this.#effects.readApproval(id);
  }

  claimChange(claim: Parameters<ApprovingStore['claimChange']>[0]): ReturnType<ApprovingStore['claimChange']> {
    return this.#effects.claimChange(claim);
  }

  listApprovals(page: Parameters<ApprovingStore['listApprovals']>[0]): ReturnType<ApprovingStore['listApprovals']> {
    return this.#effects.listApprovals(page);
  }

  waiting(...read: Parameters<OrphanStore['waiting']>): ReturnType<OrphanStore['waiting']> {
    return this.#orphans.waiting(...read);
  }

  postponeOrphan(...next: Parameters<OrphanStore['postponeOrphan']>): Promise<void> {
    return this.#orphans.postponeOrphan(...next);
  }

  giveUp(orphan: OrphanedCallback): Promise<void> {
    return this.#orphans.giveUp(orphan);
  }

  staleClaims(due: Due): ReturnType<UnfinishedWork['staleClaims']> {
    return this.#work.staleClaims(due);
  }

  postponeClaim(...next: Parameters<UnfinishedWork['postponeClaim']>): Promise<void> {
    return this.#work.postponeClaim(...next);
  }

  unknownOutcomes(due: Due): Promise<readonly Inquiry[]> {
    return this.#work.unknownOutcomes(due);
  }

  routineInquiries(due: Due): Promise<readonly Inquiry[]> {
    return this.#work.routineInquiries(due);
  }

  undetermined(limit: number): Promise<readonly Inquiry[]> {
    return this.#work.undetermined(limit);
  }

  closeInquiry(inquiry: Inquiry): Promise<void> {
    return this.#work.closeInquiry(inquiry);
  }

  postponeInquiry(...next: Parameters<UnfinishedWork['postponeInquiry']>): Promise<void> {
    return this.#work.postponeInquiry(...next);
  }

  postponeReturn(...next: Parameters<UnfinishedWork['postponeReturn']>): Promise<void> {
    return this.#work.postponeReturn(...next);
  }

  chargesToReturn(due: Due): Promise<readonly ChargeToReturn[]> {
    return this.#work.chargesToReturn(due);
  }

  closeReturn(charge: ChargeToReturn): Promise<void> {
    return this.#work.closeReturn(charge);
  }

  claimOrder(claim: OrderClaim): ReturnType<OrderStore['claimOrder']> {
    return this.#orders.claimOrder(claim);
  }

  commitOrder(commit: OrderCommit): ReturnType<OrderStore['commitOrder']> {
    return this.#orders.commitOrder(commit);
  }

  appendToOrder(append: OrderAppend): ReturnType<OrderStore['appendToOrder']> {
    return this.#orders.appendToOrder(append);
  }

  listOrderTransitions(orderId: OrderId, page: TransitionPage): ReturnType<OrderStore['listOrderTransitions']> {
    return this.#orders.listOrderTransitions(orderId, page);
  }

  openOrders(due: Due): Promise<readonly OpenOrder[]> {
    return this.#orders.openOrders(due);
  }

  postponeOrder(...next: Parameters<OrderStore['postponeOrder']>): Promise<void> {
    return this.#orders.postponeOrder(...next);
  }

  closeOrder(open: OpenOrder): Promise<void> {
    return this.#orders.closeOrder(open);
  }

  // --------------------------------------------------------------------------------------------------- reads for tests

  /** Payment by payment, in chain order. */
  allTransitions(): readonly Transition[] {
    return this.rows.items(TABLES.ledger, LedgerRow.payment).map(parseTransition);
  }

  /** Grouped by chain, in chain order. */
  outcomes(): readonly OutcomePlace[] {
    return this.database
      .items(TABLES.ledger)
      .filter((item) => LedgerTable.recentOutcomesIndex.partitionKey in item)
      .map(({ pk, sequence }) => {
        const id = (pk as string).split('#').at(-1) as ChainId;
        return isOrderId(id)
          ? { orderId: id, sequence: Number(sequence) }
          : { paymentId: id, sequence: Number(sequence) };
      });
  }

  effectIds(): readonly OperationId[] {
    return this.rows
      .items(TABLES.idempotency)
      .filter((item) => 'recordedAtMs' in item)
      .map(({ pk }) => operationOfKey(pk as string));
  }

  /** Returns every inquiry, due or not. */
  async inquiries(): Promise<readonly Inquiry[]> {
    return [...(await this.unknownOutcomes(ALL_DUE)), ...(await this.routineInquiries(ALL_DUE))];
  }

  holdsLeft(): readonly Hold[] {
    return this.rows.items(TABLES.registry, RegistryRow.hold).map(HOLDS.parse);
  }

  queued(queue: 'inquiry' | 'return'): number {
    return this.rows.items(TABLES.registry, RegistryRow[queue]).length;
  }

  openClaims(): number {
    return this.rows.items(TABLES.idempotency).filter((item) => item['status'] === 'INPROGRESS').length;
  }

  consumptions(): readonly Consumption[] {
    return this.database.items(TABLES.idempotency).map(parseConsumption);
  }

  allRuns(): readonly JobRun[] {
    return this.database.items(TABLES.registry, RegistryRow.jobRuns).map(parseRun);
  }

  /** Returns undefined if the row does not exist. */
  row({ table, partition, sort }: RowKey): Item | undefined {
    const found = this.database.items(TABLES[table], partition).find(({ pk, sk }) => pk === partition && sk === sort);
    return found === undefined ? undefined : withoutKey(found);
  }

  allRows(): readonly Item[] {
    return [...this.database.items(TABLES.views), ...this.database.items(TABLES.registry)].map(withoutKey);
  }

  /** In any state, as DynamoDB's time to live does. */
  deleteRecord(operationId: OperationId): void {
    this.#deleteRecord(operationId);
  }

  async erase(paymentId: PaymentId): Promise<void> {
    const [first] = await this.listTransitions(paymentId, { afterSequence: 0, limit: 1 });
    invariant(first !== undefined, 'the payment does not exist');
    const { tenantId, mode } = first.payment;
    const draft: ActivityDraft = {
      chain: { tenantId, mode },
      action: 'payment.erased',
      actor: BY_OPERATOR,
      about: [paymentId],
      occurredAtMs: this.#pacing.clock.nowMs(),
    };
    const { client } = this.database;
    if (this.postgres !== undefined) await this.postgres.erase(draft);
    else await eraseDetails({ client, registry: TABLES.registry, pacing: this.#pacing }, this.activity, draft);
  }

  /** In-memory writes take effect before this method returns. */
  async write(transitions: readonly Transition[]): Promise<void> {
    const written = transitions.map((transition) => {
      const items = [appendItem(TABLES, transition), ...detailsPuts(TABLES, transition)];
      return this.database.client.send(new TransactWriteCommand({ TransactItems: items }));
    });
    await Promise.all(written);
  }
}

function withoutKey({ pk: _pk, sk: _sk, ...attributes }: Item): Item {
  return attributes;
}

/** @param tables the DynamoDB tables */
type CreateStores = (clock: Clock, tables: MemoryDynamoDb) => Stores;

const onDynamoDb: CreateStores = (clock, tables) => new Stores(clock, tables);
let createStores = onDynamoDb;

/** Creates the stores of a new `World`, on the authority of the test. */
export const storesOfWorld: CreateStores = (clock, tables) => createStores(clock, tables);

/** @default DynamoDB */
export function setAuthority(create: CreateStores = onDynamoDb): void {
  createStores = create;
}
