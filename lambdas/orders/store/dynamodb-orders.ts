import type { DynamoDBDocumentClient, QueryCommandInput } from '@aws-sdk/lib-dynamodb';
import { DeleteCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import { defined } from '../../kernel/defined.ts';
import type { OrderId } from '../../kernel/ids.ts';
import type { Due } from '../../kernel/looks.ts';
import { type Pacing, readWithRetries, writeConditionally } from '../../kernel/platform/attempts.ts';
import { type Item } from '../../kernel/platform/items.ts';
import {
  type Condition,
  failOnUnreadable,
  type QueueTools,
  readDue,
  setAttributes,
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
import { OPEN_ORDERS, openOrderKey, openOrderQueued, openOrderRow } from '../../payments/store/queue-items.ts';
import type { OpenOrder, PaymentStore, TransitionPage } from '../../payments/use/payment-store.ts';
import { type OrderTransition, orderDetailsOf } from '../domain/order-transition.ts';
import type { OrderAppend, OrderClaim, OrderCommit, OrderStore } from '../use/order-store.ts';
import {
  contactsPut,
  newContacts,
  orderPartition,
  orderTransitionRow,
  parseOrderTransition,
  withContacts,
} from './order-items.ts';

export class DynamoDbOrders implements OrderStore {
  readonly #client: DynamoDBDocumentClient;
  readonly #tables: StoreTables;
  readonly #pacing: Pacing;
  readonly #records: Pick<PaymentStore, 'readRecord'>;
  readonly #queue: QueueTools;

  /** @param unreadable called for each row of the queue that cannot be parsed @default the read throws */
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
   * Writes the record, the first transition and the contacts of an order, or only a record that was lost. If two first
   * attempts are concurrent, the second finds the record of the first.
   *
   *   A ── claim ✓ ────────────
   *   B ────── claim ✗ record of A
   */
  async claimOrder({ record, first }: OrderClaim): ReturnType<OrderStore['claimOrder']> {
    const begun = first === undefined ? [] : [this.#place(first), this.#contactsOf(first)];
    const items = [claimItem(this.#tables, record), ...begun];
    const written = await transactOnce(this.#client, this.#pacing, items, async () => {
      const rival = await this.#records.readRecord(record.operationId);
      return rival === undefined || rival.owner === record.owner ? undefined : rival;
    });
    if (written.kind === 'applied') return { kind: 'claimed' };
    if (written.kind === 'early') return { kind: 'record_exists', record: written.result };
    const existing = itemOf(written.reasons[0]);
    if (existing === undefined) return { kind: 'transition_exists' };
    const found = parseRecord(existing);
    // If this call wrote the record, the first attempt to write was applied and the response was lost.
    return found.owner === record.owner ? { kind: 'claimed' } : { kind: 'record_exists', record: found };
  }

  async commitOrder({ record, expects, ...rest }: OrderCommit): Promise<CommitOutcome> {
    const items = [completionItem(this.#tables, record, expects), ...this.#appended(rest)];
    const written = await transactOnce(this.#client, this.#pacing, items);
    if (written.kind === 'applied') return { kind: 'committed' };
    const [recordReason] = written.kind === 'refused' ? written.reasons : [];
    const item = itemOf(recordReason);
    const existing = item === undefined ? undefined : parseRecord(item);
    if (existing?.status === 'COMPLETED' && existing.owner === record.owner) return { kind: 'committed' };
    return isRefused(recordReason) ? { kind: 'fenced', record: existing } : { kind: 'transition_exists' };
  }

  /**
   * Appends transitions. If two drivers have read the same newest transition, one appends, and the other rereads the
   * chain.
   *
   *   A ── read T4 ── call ── T5 ✓
   *   B ──── read T4 ── call ── T5 ✗ ── read T5 ── nothing to add
   *
   * If an append was applied but its response was lost, the driver also rereads the chain, and finds its own
   * transitions.
   */
  async appendToOrder(append: OrderAppend): ReturnType<OrderStore['appendToOrder']> {
    const written = await transactOnce(this.#client, this.#pacing, this.#appended(append));
    return { kind: written.kind === 'applied' ? 'appended' : 'transition_exists' };
  }

  async listOrderTransitions(orderId: OrderId, page: TransitionPage): Promise<readonly OrderTransition[]> {
    const found: OrderTransition[] = [];
    let from: Item | undefined;
    // DynamoDB ends a page at 1 MB.
    do {
      const input: QueryCommandInput = {
        TableName: this.#tables.ledger,
        KeyConditionExpression: '#pk = :pk AND #sk > :after',
        ExpressionAttributeNames: { '#pk': KeyAttribute.partition, '#sk': KeyAttribute.sort },
        ExpressionAttributeValues: { ':pk': orderPartition(orderId), ':after': transitionSort(page.afterSequence) },
        ConsistentRead: true,
        Limit: page.limit - found.length,
        ...defined({ ExclusiveStartKey: from }),
      };
      const output = await readWithRetries(this.#pacing, () => this.#client.send(new QueryCommand(input)));
      found.push(...(output.Items ?? []).map(parseOrderTransition));
      from = output.LastEvaluatedKey;
    } while (from !== undefined && found.length < page.limit);
    const tools = { client: this.#client, registry: this.#tables.registry, pacing: this.#pacing };
    return Promise.all(found.map((transition) => withContacts(tools, transition)));
  }

  async openOrders(due: Due): Promise<readonly OpenOrder[]> {
    return readDue(this.#queue, OPEN_ORDERS, due);
  }

  async postponeOrder(open: OpenOrder, dueAtMs: number): Promise<void> {
    await setAttributes(this.#queue, openOrderKey(open), openOrderQueued(open, dueAtMs), isUnchanged(open));
  }

  async closeOrder(open: OpenOrder): Promise<void> {
    const entry = { TableName: this.#tables.registry, Key: openOrderKey(open) };
    await writeConditionally(this.#pacing, () =>
      this.#client.send(new DeleteCommand({ ...entry, ...isUnchanged(open) })),
    );
  }

  #appended({ transitions, open }: OrderAppend): TransactItem[] {
    const items = transitions.map((transition) => this.#place(transition));
    if (open !== undefined) items.push({ Put: { TableName: this.#tables.registry, Item: openOrderRow(open) } });
    return items;
  }

  #contactsOf(transition: OrderTransition): TransactItem {
    return contactsPut(this.#tables, transition.order, newContacts(orderDetailsOf(transition)));
  }

  /** The condition lets only one writer take a position in the chain. */
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

function isUnchanged({ sequence }: OpenOrder): Condition {
  return {
    ConditionExpression: '#sequence = :sequence',
    ExpressionAttributeNames: { '#sequence': 'sequence' },
    ExpressionAttributeValues: { ':sequence': sequence },
  };
}
