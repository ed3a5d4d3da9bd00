import type {
  DynamoDBDocumentClient,
  PutCommandInput,
  QueryCommandInput,
  QueryCommandOutput,
} from '@aws-sdk/lib-dynamodb';
import { GetCommand, PutCommand, QueryCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { DynamoDbActivity } from '../../activity/store/dynamodb-activity.ts';
import { KeyAttribute, RegistryTable } from '../../kernel/contract/tables.ts';
import type { OperationId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { Due } from '../../kernel/looks.ts';
import { type Pacing, readWithRetries, writeConditionally } from '../../kernel/platform/attempts.ts';
import type { Item } from '../../kernel/platform/items.ts';
import {
  failOnUnreadable,
  readableRows,
  readPartitions,
  type Unreadable,
  unreadableRow,
} from '../../kernel/platform/queue-rows.ts';
import { eachShard, mostShards } from '../../kernel/platform/shards.ts';
import type { EffectRecord } from '../../once/domain/idempotency.ts';
import { effectRecordItem, parseEffectRecord, recordKey } from '../../once/store/record-items.ts';
import type { StoreTables, TransactItem } from '../../once/store/transact-items.ts';
import { isRefused, itemOf, RECORD_IS_NEW, ROW_IS_NEW, transactOnce } from '../../once/store/transact-items.ts';
import type { Delivery } from '../domain/webhook-delivery.ts';
import type { EndpointList, WebhookOwner } from '../domain/webhook-endpoint.ts';
import type { WebhookLane } from '../domain/webhook-lane.ts';
import type { WebhookReplay } from '../domain/webhook-replay.ts';
import type {
  DeliveryPage,
  DueWebhook,
  DueWebhooks,
  FailingEndpoints,
  MovedWebhook,
  Revised,
  WebhookChange,
  WebhookChangeOutcome,
  WebhookStore,
} from '../use/webhooks.ts';
import {
  bookKey,
  bookRow,
  deliveriesPartition,
  deliveryKey,
  deliveryRow,
  duePartition,
  FAILING_PARTITION,
  keyOfTask,
  laneKey,
  lanePartition,
  laneRow,
  movedRow,
  noticeRow,
  parseBook,
  parseDelivery,
  parseDue,
  parseLane,
  parseReplay,
  replayKey,
  replayRow,
} from './webhook-items.ts';

/** The Ledger is present only in functions that record requests in the activity log. */
type WebhookTables = Pick<StoreTables, 'idempotency' | 'registry'> & Partial<Pick<StoreTables, 'ledger'>>;

/**
 * Stores endpoints, deliveries, replays, lanes and endpoint events in the Registry table, together with the due queue.
 * Stores effect records in the Idempotency table, and activity-log entries in the Ledger.
 */
export class DynamoDbWebhooks implements WebhookStore, DueWebhooks, FailingEndpoints {
  readonly #client: DynamoDBDocumentClient;
  readonly #tables: WebhookTables;
  readonly #pacing: Pacing;
  readonly #unreadable: Unreadable;

  /**
   * @param unreadable receives the rows of a list that cannot be parsed: due rows, deliveries and endpoint lists
   * @default the read fails
   */
  constructor(
    client: DynamoDBDocumentClient,
    tables: WebhookTables,
    pacing: Pacing,
    unreadable: Unreadable = failOnUnreadable,
  ) {
    this.#client = client;
    this.#tables = tables;
    this.#pacing = pacing;
    this.#unreadable = unreadable;
  }

  /**
   * Every write expects the revision that was read, so only one of two writers that read the same revision succeeds:
   *
   *   A ── read rev 3 ── rev 4 ✓
   *   B ──── read rev 3 ──── rev 4 ✗: changed
   */
  async write(change: WebhookChange): Promise<WebhookChangeOutcome> {
    const { record } = change;
    const items = [...this.#itemsOf(change), ...(await this.#entryOf(change))];
    const [only, ...others] = items;
    // A single row is written without a transaction, because a transaction costs twice as much. After a lost response,
    // the retried write finds its own row, and the outcome is `changed`.
    if (record === undefined && only?.Put !== undefined && others.length === 0) {
      const put = new PutCommand(only.Put);
      const { kind } = await writeConditionally(this.#pacing, () => this.#client.send(put));
      return { kind: kind === 'applied' ? 'written' : 'changed' };
    }
    const written = await transactOnce(this.#client, this.#pacing, items, async () => {
      const found = record === undefined ? undefined : await this.readEffect(record.operationId);
      return found === undefined || found.owner === record?.owner ? undefined : found;
    });
    if (written.kind === 'applied') return { kind: 'written' };
    if (written.kind === 'early') return { kind: 'recorded_before', record: written.result };
    const [reason] = written.reasons;
    const existing = itemOf(reason);
    if (record === undefined || existing === undefined || !isRefused(reason)) return { kind: 'changed' };
    const found = parseEffectRecord(existing);
    // If the record is this call's own, an earlier attempt was applied and its response was lost.
    return found.owner === record.owner ? { kind: 'written' } : { kind: 'recorded_before', record: found };
  }

  async readEffect(operationId: OperationId): Promise<EffectRecord | undefined> {
    const found = await this.#get(this.#tables.idempotency, recordKey(operationId));
    return found === undefined ? undefined : parseEffectRecord(found);
  }

  async readBook(owner: WebhookOwner): Promise<EndpointList> {
    const found = await this.#get(this.#tables.registry, bookKey(owner));
    const { tenantId, mode } = owner;
    return found === undefined ? { tenantId, mode, revision: 0, endpoints: [] } : parseBook(found);
  }

  async failing(limit: number): Promise<readonly EndpointList[]> {
    const { name: IndexName, partitionKey } = RegistryTable.queuesIndex;
    const { Items = [] } = await this.#page({
      IndexName,
      KeyConditionExpression: '#part = :part',
      ExpressionAttributeNames: { '#part': partitionKey },
      ExpressionAttributeValues: { ':part': FAILING_PARTITION },
      Limit: limit,
    });
    return readableRows(Items, parseBook, this.#unreadable);
  }

  async readDelivery(endpointId: string, deliveryId: string): Promise<Delivery | undefined> {
    const found = await this.#get(this.#tables.registry, deliveryKey({ endpointId, id: deliveryId }));
    return found === undefined ? undefined : readRow(found, parseDelivery);
  }

  park(endpointId: string, deliveryId: string): Promise<void> {
    return this.#leaveQueue(deliveryKey({ endpointId, id: deliveryId }));
  }

  finish(eventId: string): Promise<void> {
    return this.#leaveQueue(keyOfTask({ kind: 'notice', eventId }));
  }

  async #leaveQueue(Key: Item): Promise<void> {
    await writeConditionally(this.#pacing, () =>
      this.#client.send(
        new UpdateCommand({
          TableName: this.#tables.registry,
          Key,
          // Remove `apart`, too. If the message is redriven while the endpoint is slow, the sender moves the delivery
          // to the lane again, but only if `apart` is absent.
          UpdateExpression: 'REMOVE #due, apart',
          ConditionExpression: 'attribute_exists(#due)',
          ExpressionAttributeNames: { '#due': RegistryTable.dueIndex.partitionKey },
        }),
      ),
    );
  }

  /** Queries each shard for a whole page, because all deliveries of the page may be in one shard. */
  async listDeliveries(endpointId: string, page: DeliveryPage): Promise<readonly Delivery[]> {
    const { limit, oldestFirst = false } = page;
    // Ids consist of letters, digits and `_`, which all sort before `~`.
    const after = page.after ?? (oldestFirst ? '0' : '~');
    const pages = await Promise.all(
      eachShard(mostShards().deliveries).map(async (shard) => {
        const found: Delivery[] = [];
        // Unreadable rows are replaced by later ones, because callers treat a short page as the last one.
        for (let from: string | undefined = after; from !== undefined && found.length < limit; ) {
          // A page of a hundred deliveries of at most 3 kB takes one query, which returns at most 1 MB.
          const { Items = [], LastEvaluatedKey }: QueryCommandOutput = await this.#page({
            KeyConditionExpression: `#pk = :pk AND #sk ${oldestFirst ? '>' : '<'} :after`,
            ExpressionAttributeNames: { '#pk': KeyAttribute.partition, '#sk': KeyAttribute.sort },
            ExpressionAttributeValues: { ':pk': deliveriesPartition(endpointId, shard), ':after': from },
            ScanIndexForward: oldestFirst,
            ConsistentRead: true,
            Limit: limit - found.length,
          });
          found.push(...readableRows(Items, parseDelivery, this.#unreadable));
          from = LastEvaluatedKey?.[KeyAttribute.sort] as string | undefined;
        }
        return found;
      }),
    );
    return pages
      .flat()
      .sort((left, right) => (left.id < right.id !== oldestFirst ? 1 : -1))
      .slice(0, limit);
  }

  async readReplay(replayId: string): Promise<WebhookReplay | undefined> {
    const found = await this.#get(this.#tables.registry, replayKey(replayId));
    return found === undefined ? undefined : parseReplay(found);
  }

  async readLane(endpointId: string): Promise<WebhookLane | undefined> {
    const found = await this.#get(this.#tables.registry, laneKey(endpointId));
    return found === undefined ? undefined : readRow(found, parseLane);
  }

  async due(nowMs: number, limit: number): Promise<readonly DueWebhook[]> {
    const partitions = eachShard(mostShards().dueWebhooks).map((shard) => duePartition(shard));
    return this.#dueIn(partitions, { untilMs: nowMs, limit });
  }

  async dueInLane(endpointId: string, limit: number): Promise<readonly DueWebhook[]> {
    const partitions = eachShard(mostShards().deliveries).map((shard) => duePartition(shard, endpointId));
    return this.#dueIn(partitions, { untilMs: Number.MAX_SAFE_INTEGER, limit });
  }

  /**
   * Moves a row if its time has not changed since it was read, so that only one of two sweeps queues the row:
   *
   *   A ── read at 12:00 ── to 12:10 ✓ ── queue
   *   B ──── read at 12:00 ──── to 12:10 ✗
   */
  async move(
    { task, sweepAtMs }: DueWebhook,
    to: { readonly sweepAtMs: number; readonly apart?: true },
  ): Promise<MovedWebhook | undefined> {
    const { partitionKey, sortKey } = RegistryTable.dueIndex;
    const lane = to.apart === true && task.kind === 'attempt' ? lanePartition(task) : undefined;
    const update = new UpdateCommand({
      TableName: this.#tables.registry,
      Key: keyOfTask(task),
      // The response then contains the owner and the due time, which the index does not contain, at no extra cost.
      ReturnValues: 'ALL_NEW',
      UpdateExpression: lane === undefined ? 'SET #at = :to' : 'SET #at = :to, #due = :lane, apart = :apart',
      ConditionExpression: 'attribute_exists(#due) AND #at = :at',
      ExpressionAttributeNames: { '#due': partitionKey, '#at': sortKey },
      ExpressionAttributeValues: {
        ':at': sweepAtMs,
        ':to': to.sweepAtMs,
        ...(lane === undefined ? {} : { ':lane': lane, ':apart': true }),
      },
    });
    // If the response is lost, the retry finds that the row was moved, and the next round of the sweep queues it.
    let row: Item | undefined;
    const { kind } = await writeConditionally(this.#pacing, async () => {
      row = (await this.#client.send(update)).Attributes;
    });
    return kind === 'applied' ? movedRow(row) : undefined;
  }

  #dueIn(partitions: readonly string[], due: Due): Promise<readonly DueWebhook[]> {
    const tools = {
      client: this.#client,
      table: this.#tables.registry,
      pacing: this.#pacing,
      unreadable: this.#unreadable,
    };
    const { partition, sort } = KeyAttribute;
    const keyOf = (item: Item): Item => ({ [partition]: item[partition], [sort]: item[sort] });
    return readPartitions(tools, { index: RegistryTable.dueIndex, partitions, parse: parseDue, keyOf }, due);
  }

  #itemsOf({ record, book, deliveries = [], replay, lane, notice }: WebhookChange): TransactItem[] {
    const items: TransactItem[] = [];
    if (record !== undefined) {
      items.push({
        Put: {
          TableName: this.#tables.idempotency,
          Item: effectRecordItem(record),
          ConditionExpression: RECORD_IS_NEW,
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        },
      });
    }
    if (book !== undefined) items.push(this.#revised(bookRow(book.now), book));
    for (const each of deliveries) items.push(this.#revised(deliveryRow(each.now), each));
    if (replay !== undefined) items.push(this.#revised(replayRow(replay.now), replay));
    if (lane !== undefined) items.push(this.#revised(laneRow(lane.now), lane));
    if (notice !== undefined) items.push(this.#revised(noticeRow(notice), { now: notice }));
    return items;
  }

  async #entryOf({ activity }: WebhookChange): Promise<readonly TransactItem[]> {
    if (activity === undefined) return [];
    const { ledger } = this.#tables;
    invariant(ledger !== undefined, 'the function has no Ledger table for the activity log');
    return new DynamoDbActivity(this.#client, { ledger }, this.#pacing).itemsFor(activity);
  }

  #revised(row: Item, { was }: Revised<{ readonly revision: number }>): { readonly Put: PutCommandInput } {
    const base = { TableName: this.#tables.registry, Item: row };
    if (was === undefined || was.revision === 0) return { Put: { ...base, ConditionExpression: ROW_IS_NEW } };
    return {
      Put: {
        ...base,
        ConditionExpression: 'revision = :was',
        ExpressionAttributeValues: { ':was': was.revision },
      },
    };
  }

  async #get(table: string, key: Item): Promise<Item | undefined> {
    const { Item } = await readWithRetries(this.#pacing, () =>
      this.#client.send(new GetCommand({ TableName: table, Key: key, ConsistentRead: true })),
    );
    return Item;
  }

  #page(input: Omit<QueryCommandInput, 'TableName'>): Promise<QueryCommandOutput> {
    return readWithRetries(this.#pacing, () =>
      this.#client.send(new QueryCommand({ ...input, TableName: this.#tables.registry })),
    );
  }
}

/** @throws TerminalError with the code `row_unreadable` */
function readRow<Row>(item: Item, parse: (item: Item) => Row): Row {
  try {
    return parse(item);
  } catch (cause) {
    throw unreadableRow(item, cause);
  }
}
