import type { DynamoDBDocumentClient, QueryCommandInput } from '@aws-sdk/lib-dynamodb';
import { DeleteCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import type { OrderId } from '../../kernel/ids.ts';
import { type Pacing, readWithRetries, writeConditionally } from '../../kernel/platform/attempts.ts';
import { type Item } from '../../kernel/platform/items.ts';
import {
  failOnUnreadable,
  type Queue,
  type QueueTools,
  readQueue,
  type Unreadable,
} from '../../kernel/platform/queue-rows.ts';
import { parseRecord } from '../../once/store/record-items.ts';
import { claimItem, completionItem } from '../../once/store/record-writes.ts';
import {
  isRefused,
  itemOf,
  ROW_IS_NEW,
  type StoreTables,
  type TransactItem,
  transactOnce,
} from '../../once/store/transact-items.ts';
import type { CommitOutcome } from '../../once/use/record-store.ts';
import { transitionSort } from '../../payments/store/items.ts';
import { openOrderKey, openOrderRow, openOrdersPartition, parseOpenOrder } from '../../payments/store/queue-items.ts';
import type { OpenOrder, PaymentStore, TransitionPage } from '../../payments/use/payment-store.ts';
import type { OrderTransition } from '../domain/order-transition.ts';
import type { OrderAppend, OrderClaim, OrderCommit, OrderStore } from '../use/order-store.ts';
import { orderPartition, orderTransitionRow, parseOrderTransition } from './order-items.ts';

const OPEN_ORDERS: Queue<OpenOrder> = { partition: openOrdersPartition, prefixes: ['ord_'], parse: parseOpenOrder };

/** Orders beside payments in the same tables: their chains in the Ledger, their records, and the queue of the open ones. */
export class DynamoDbOrders implements OrderStore {
  readonly #client: DynamoDBDocumentClient;
  readonly #tables: StoreTables;
  readonly #pacing: Pacing;
  readonly #records: Pick<PaymentStore, 'readRecord'>;
  readonly #queue: QueueTools;

  /** @param unreadable whoever reads the queue is told of its rows that cannot be read @default the reading fails */
  constructor(
    client: DynamoDBDocumentClient,
    tables: StoreTables,
    pacing: Pacing,
    records: Pick<PaymentStore, 'readRecord'>,
    unreadable: Unreadable = failOnUnreadable,
  ) {
    this.#client = client;
    this.#tables = tables;
    this.#pacing = pacing;
    this.#records = records;
    this.#queue = { client, table: tables.registry, pacing, unreadable };
  }

  /**
   * Closes the race of two first attempts: both write, one finds the other's record.
   *
   *   A ── claim ✓ ────────────
   *   B ────── claim ✗ record of A
   */
  async claimOrder({ record, first }: OrderClaim): ReturnType<OrderStore['claimOrder']> {
    const items = [claimItem(this.#tables, record), ...(first === undefined ? [] : [this.#place(first)])];
    const written = await transactOnce(this.#client, this.#pacing, items, async () => {
      const rival = await this.#records.readRecord(record.operationId);
      return rival === undefined || rival.owner === record.owner ? undefined : rival;
    });
    if (written.kind === 'applied') return { kind: 'claimed' };
    if (written.kind === 'early') return { kind: 'record_exists', record: written.result };
    const existing = itemOf(written.reasons[0]);
    if (existing === undefined) return { kind: 'transition_exists' };
    const found = parseRecord(existing);
    // Our own: the first sending was applied and its answer was lost.
    return found.owner === record.owner ? { kind: 'claimed' } : { kind: 'record_exists', record: found };
  }

  async commitOrder({ record, expects, ...rest }: OrderCommit): Promise<CommitOutcome> {
    const items = [completionItem(this.#tables, record, expects), ...this.#appended(rest)];
    const written = await transactOnce(this.#client, this.#pacing, items);
    if (written.kind === 'applied') return { kind: 'committed' };
    const [recordReason] = written.kind === 'refused' ? written.reasons : [];
    const item = itemOf(recordReason);
    const existing = item === undefined ? undefined : parseRecord(item);
    // Our own: the first sending was applied and its answer was lost.
    if (existing?.status === 'COMPLETED' && existing.owner === record.owner) return { kind: 'committed' };
    return isRefused(recordReason) ? { kind: 'fenced', record: existing } : { kind: 'transition_exists' };
  }

  /**
   * Two drivers have read the same place; one takes it, and the other reads again.
   *
   *   A ── read T4 ── ask ── T5 ✓
   *   B ──── read T4 ── ask ── T5 ✗ ── read T5 ── nothing to add
   *
   * A lost answer to an append that was applied looks the same to its own driver, and is as harmless: what it wrote is there.
   */
  async appendToOrder(append: OrderAppend): ReturnType<OrderStore['appendToOrder']> {
    const written = await transactOnce(this.#client, this.#pacing, this.#appended(append));
    return { kind: written.kind === 'applied' ? 'appended' : 'transition_exists' };
  }

  async listOrderTransitions(orderId: OrderId, page: TransitionPage): Promise<readonly OrderTransition[]> {
    const found: OrderTransition[] = [];
    let from: Item | undefined;
    // A page ends at a megabyte as well: one that is cut short must not be taken for the end of the chain.
    do {
      const input: QueryCommandInput = {
        TableName: this.#tables.ledger,
        KeyConditionExpression: '#pk = :pk AND #sk > :after',
        ExpressionAttributeNames: { '#pk': KeyAttribute.partition, '#sk': KeyAttribute.sort },
        ExpressionAttributeValues: { ':pk': orderPartition(orderId), ':after': transitionSort(page.afterSequence) },
        ConsistentRead: true,
        Limit: page.limit - found.length,
        ...(from === undefined ? {} : { ExclusiveStartKey: from }),
      };
      const output = await readWithRetries(this.#pacing, () => this.#client.send(new QueryCommand(input)));
      found.push(...(output.Items ?? []).map(parseOrderTransition));
      from = output.LastEvaluatedKey;
    } while (from !== undefined && found.length < page.limit);
    return found;
  }

  async openOrders(limit: number): Promise<readonly OpenOrder[]> {
    return readQueue(this.#queue, OPEN_ORDERS, limit);
  }

  /** Only as it was read: an order that was opened again since stays in the queue. */
  async closeOrder({ orderId, sequence }: OpenOrder): Promise<void> {
    await writeConditionally(this.#pacing, () =>
      this.#client.send(
        new DeleteCommand({
          TableName: this.#tables.registry,
          Key: openOrderKey({ orderId }),
          ConditionExpression: '#sequence = :sequence',
          ExpressionAttributeNames: { '#sequence': 'sequence' },
          ExpressionAttributeValues: { ':sequence': sequence },
        }),
      ),
    );
  }

  #appended({ transitions, open }: OrderAppend): TransactItem[] {
    const items = transitions.map((transition) => this.#place(transition));
    if (open !== undefined) items.push({ Put: { TableName: this.#tables.registry, Item: openOrderRow(open) } });
    return items;
  }

  /** Can be taken once. */
  #place(transition: OrderTransition): TransactItem {
    return {
      Put: {
        TableName: this.#tables.ledger,
        Item: orderTransitionRow(transition),
        ConditionExpression: ROW_IS_NEW,
      },
    };
  }
}
