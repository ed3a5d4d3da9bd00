import type { DynamoDBDocumentClient, QueryCommandInput, QueryCommandOutput } from '@aws-sdk/lib-dynamodb';
import { GetCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import type { OperationId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import { type Pacing, readWithRetries } from '../../kernel/platform/attempts.ts';
import { type Item } from '../../kernel/platform/items.ts';
import { failOnUnreadable, readableRows, type Unreadable } from '../../kernel/platform/queue-rows.ts';
import type { EffectRecord } from '../../once/domain/idempotency.ts';
import { effectRecordItem, parseEffectRecord, recordKey } from '../../once/store/record-items.ts';
import type { StoreTables, TransactItem } from '../../once/store/transact-items.ts';
import { isRefused, itemOf, RECORD_IS_NEW, ROW_IS_NEW, transactOnce } from '../../once/store/transact-items.ts';
import type { Delivery } from '../domain/webhook-delivery.ts';
import type { EndpointBook, WebhookOwner } from '../domain/webhook-endpoint.ts';
import type { WebhookReplay } from '../domain/webhook-replay.ts';
import type {
  DeliveryPage,
  DueWebhooks,
  Revised,
  WebhookChange,
  WebhookChangeOutcome,
  WebhookStore,
  WebhookTask,
} from '../use/webhooks.ts';
import {
  bookKey,
  bookRow,
  DUE_SHARDS,
  deliveriesPartition,
  deliveryKey,
  deliveryRow,
  dueKey,
  duePartition,
  dueTime,
  parseBook,
  parseDelivery,
  parseDue,
  parseReplay,
  replayKey,
  replayRow,
} from './webhook-items.ts';

/** A query returns at most 1 MB. A page of a hundred deliveries of at most 20 kB takes two queries. */
const MAX_QUERIES = 8;

/** Endpoints, deliveries, replays and the due queue are in the Registry table, effect records in the Idempotency table. */
export class DynamoDbWebhooks implements WebhookStore, DueWebhooks {
  readonly #client: DynamoDBDocumentClient;
  readonly #tables: Pick<StoreTables, 'idempotency' | 'registry'>;
  readonly #pacing: Pacing;
  readonly #unreadable: Unreadable;

  /** @param unreadable receives rows of the due queue that cannot be parsed @default the read fails */
  constructor(
    client: DynamoDBDocumentClient,
    tables: Pick<StoreTables, 'idempotency' | 'registry'>,
    pacing: Pacing,
    unreadable: Unreadable = failOnUnreadable,
  ) {
    this.#client = client;
    this.#tables = tables;
    this.#pacing = pacing;
    this.#unreadable = unreadable;
  }

  /**
   * Every write expects the revision that was read, so of two writers that read the same revision one fails:
   *
   *   A ── read rev 3 ── rev 4 ✓
   *   B ──── read rev 3 ──── rev 4 ✗: changed
   */
  async write(change: WebhookChange): Promise<WebhookChangeOutcome> {
    const { record } = change;
    const written = await transactOnce(this.#client, this.#pacing, this.#itemsOf(change), async () => {
      const found = record === undefined ? undefined : await this.readEffect(record.operationId);
      return found === undefined || found.owner === record?.owner ? undefined : found;
    });
    if (written.kind === 'applied') return { kind: 'written' };
    if (written.kind === 'early') return { kind: 'recorded_before', record: written.result };
    const [reason] = written.reasons;
    const existing = itemOf(reason);
    if (record === undefined || existing === undefined || !isRefused(reason)) return { kind: 'changed' };
    const found = parseEffectRecord(existing);
    // The record is ours: an earlier attempt of this call was applied and its answer was lost.
    return found.owner === record.owner ? { kind: 'written' } : { kind: 'recorded_before', record: found };
  }

  async readEffect(operationId: OperationId): Promise<EffectRecord | undefined> {
    const found = await this.#get(this.#tables.idempotency, recordKey(operationId));
    return found === undefined ? undefined : parseEffectRecord(found);
  }

  async readBook(owner: WebhookOwner): Promise<EndpointBook> {
    const found = await this.#get(this.#tables.registry, bookKey(owner));
    const { tenantId, mode } = owner;
    return found === undefined ? { tenantId, mode, revision: 0, endpoints: [] } : parseBook(found);
  }

  async readDelivery(endpointId: string, deliveryId: string): Promise<Delivery | undefined> {
    const found = await this.#get(this.#tables.registry, deliveryKey({ endpointId, id: deliveryId }));
    return found === undefined ? undefined : parseDelivery(found);
  }

  async listDeliveries(endpointId: string, { after, limit }: DeliveryPage): Promise<readonly Delivery[]> {
    const found: Delivery[] = [];
    let next = after === undefined ? undefined : deliveryKey({ endpointId, id: after });
    for (let query = 0; query < MAX_QUERIES; query += 1) {
      const page = await this.#page({
        KeyConditionExpression: '#pk = :pk',
        ExpressionAttributeNames: { '#pk': KeyAttribute.partition },
        ExpressionAttributeValues: { ':pk': deliveriesPartition(endpointId) },
        ScanIndexForward: false,
        Limit: limit - found.length,
        ...(next === undefined ? {} : { ExclusiveStartKey: next }),
      });
      found.push(...(page.Items ?? []).map(parseDelivery));
      next = page.LastEvaluatedKey;
      if (found.length >= limit || next === undefined) return found;
    }
    invariant(false, `a page of ${limit} deliveries exceeds the maximum size`);
  }

  async readReplay(replayId: string): Promise<WebhookReplay | undefined> {
    const found = await this.#get(this.#tables.registry, replayKey(replayId));
    return found === undefined ? undefined : parseReplay(found);
  }

  async due(nowMs: number, limit: number): Promise<readonly WebhookTask[]> {
    const shards = Array.from({ length: DUE_SHARDS }, (_, shard) => shard);
    const found = await Promise.all(
      shards.map((shard) =>
        this.#page({
          KeyConditionExpression: '#pk = :pk AND #sk < :now',
          ExpressionAttributeNames: { '#pk': KeyAttribute.partition, '#sk': KeyAttribute.sort },
          // Includes rows that are due in this millisecond: their sort keys continue after the time.
          ExpressionAttributeValues: { ':pk': duePartition(shard), ':now': dueTime(nowMs + 1) },
          Limit: Math.max(1, Math.floor(limit / DUE_SHARDS)),
        }),
      ),
    );
    return found.flatMap(({ Items = [] }) => readableRows(Items, parseDue, this.#unreadable));
  }

  #itemsOf({ record, book, deliveries = [], replay }: WebhookChange): TransactItem[] {
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
    for (const each of deliveries) {
      const { id, endpointId } = each.now;
      items.push(this.#revised(deliveryRow(each.now), each));
      items.push(...this.#dueItems({ kind: 'attempt', endpointId, deliveryId: id }, each));
    }
    if (replay !== undefined) {
      items.push(this.#revised(replayRow(replay.now), replay));
      items.push(...this.#dueItems({ kind: 'replay', replayId: replay.now.id }, replay));
    }
    return items;
  }

  #revised(row: Item, { was }: Revised<{ readonly revision: number }>): TransactItem {
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

  /** Moves the due row with its delivery or replay. The condition on that row guards both. */
  #dueItems(task: WebhookTask, { was, now }: Revised<{ readonly dueAtMs?: number }>): TransactItem[] {
    if (was?.dueAtMs === now.dueAtMs) return [];
    const { registry } = this.#tables;
    const items: TransactItem[] = [];
    if (was?.dueAtMs !== undefined) {
      items.push({ Delete: { TableName: registry, Key: dueKey(task, was.dueAtMs) } });
    }
    if (now.dueAtMs !== undefined) {
      items.push({ Put: { TableName: registry, Item: { ...dueKey(task, now.dueAtMs), ...task } } });
    }
    return items;
  }

  async #get(table: string, key: Item): Promise<Item | undefined> {
    const { Item } = await readWithRetries(this.#pacing, () =>
      this.#client.send(new GetCommand({ TableName: table, Key: key, ConsistentRead: true })),
    );
    return Item;
  }

  #page(input: Omit<QueryCommandInput, 'TableName'>): Promise<QueryCommandOutput> {
    return readWithRetries(this.#pacing, () =>
      this.#client.send(new QueryCommand({ ...input, TableName: this.#tables.registry, ConsistentRead: true })),
    );
  }
}
