import { type DynamoDBDocumentClient, QueryCommand, type QueryCommandOutput } from '@aws-sdk/lib-dynamodb';
import { QueueRow, RegistryRow } from '../../kernel/contract/rows.ts';
import { IdempotencyTable, KeyAttribute, RegistryTable } from '../../kernel/contract/tables.ts';
import { defined } from '../../kernel/defined.ts';
import { type Pacing, readWithRetries } from '../../kernel/platform/attempts.ts';
import type { Item } from '../../kernel/platform/items.ts';
import { rowsAfter } from '../../kernel/platform/rows-after.ts';
import { eachShard, mostShards, OPERATOR_SHARD } from '../../kernel/platform/shards.ts';
import { parseRecord } from '../../once/store/record-items.ts';
import type { StoreTables } from '../../once/store/transact-items.ts';
import {
  FOREIGN_SORT,
  HOLDS,
  ORPHAN_SHARDS,
  parseChargeToReturn,
  parseInquiry,
  parseOpenOrder,
  parseOrphan,
  RETURN_SHARDS,
} from '../../payments/store/queue-items.ts';
import {
  CLAIM_SORT_KEY_PATTERN,
  type OperatorQueue,
  type QueueLists,
  type QueueName,
  type QueuePosition,
  type QueueSummary,
} from '../use/queue-lists.ts';
import { ENTRY_OF, readableEntry } from './queue-entries.ts';

interface Rows {
  readonly prefix: string;
  readonly shards: () => number;
  readonly entryOf: (item: Item) => ReturnType<(typeof ENTRY_OF)[QueueName]>;
}

const ROWS: Readonly<Record<Exclude<QueueName, 'claims'>, Rows>> = {
  inquiries: {
    prefix: RegistryRow.inquiry,
    shards: () => mostShards().queues,
    entryOf: (item) => ENTRY_OF.inquiries(parseInquiry(item)),
  },
  returns: {
    prefix: RegistryRow.return,
    shards: () => RETURN_SHARDS,
    entryOf: (item) => ENTRY_OF.returns(parseChargeToReturn(item)),
  },
  orders: {
    prefix: RegistryRow.openOrder,
    shards: () => mostShards().queues,
    entryOf: (item) => ENTRY_OF.orders(parseOpenOrder(item)),
  },
  holds: {
    prefix: RegistryRow.hold,
    shards: HOLDS.shards,
    entryOf: (item) => ENTRY_OF.holds(HOLDS.parse(item)),
  },
  orphans: {
    prefix: RegistryRow.orphan,
    shards: () => ORPHAN_SHARDS,
    entryOf: (item) => ENTRY_OF.orphans(parseOrphan(item)),
  },
  unmatched_callbacks: {
    prefix: RegistryRow.keptOrphan,
    shards: () => ORPHAN_SHARDS,
    entryOf: (item) => ENTRY_OF.unmatched_callbacks(parseOrphan(item)),
  },
};

/** Per shard. */
const MAX_COUNTED = 125;

/** Claims with an active owner are also read, but not listed. */
const CLAIMS_AT_ONCE = 250;

/** Maximum number of entries to read from each shard when listing the entries that need an operator. */
const NEEDING_AT_ONCE = 1_000;

/** Filter conditions: the first on open claims, the second on entries of any queue. */
const IS_WITHOUT_OWNER = 'leaseExpiresAtMs <= :now';
const IS_UNDECIDABLE = 'undecidable = :true';

type Found = Awaited<ReturnType<QueueLists['page']>>[number];

export class DynamoDbQueues implements QueueLists {
  readonly #client: DynamoDBDocumentClient;
  readonly #tables: Pick<StoreTables, 'idempotency' | 'registry'>;
  readonly #pacing: Pacing;

  constructor(client: DynamoDBDocumentClient, tables: Pick<StoreTables, 'idempotency' | 'registry'>, pacing: Pacing) {
    this.#client = client;
    this.#tables = tables;
    this.#pacing = pacing;
  }

  async summary(queue: QueueName): Promise<QueueSummary> {
    const shards = eachShard(shardsOf(queue));
    const found = await Promise.all(shards.map((shard) => this.#shard(queue, shard, MAX_COUNTED + 1)));
    const counted = found.flatMap((entries) => entries.slice(0, MAX_COUNTED));
    const times = counted.flatMap(({ entry: { sinceMs } }) => sinceMs ?? []);
    return {
      waiting: counted.length,
      hasMore: found.some((entries) => entries.length > MAX_COUNTED),
      ...(times.length === 0 ? {} : { oldestMs: Math.min(...times) }),
    };
  }

  async needingOperator(queue: OperatorQueue) {
    const pages = await Promise.all(this.#readNeeding(queue));
    return {
      entries: pages.flatMap(({ Items = [] }) => Items.map((item) => readableEntry(() => rendered(queue, item)))),
      hasMore: pages.some(({ LastEvaluatedKey }) => LastEvaluatedKey !== undefined),
    };
  }

  #readNeeding(queue: OperatorQueue): readonly Promise<QueryCommandOutput>[] {
    switch (queue) {
      case 'claims':
        return [this.#openClaims(OPERATOR_SHARD, IS_UNDECIDABLE, NEEDING_AT_ONCE)];
      case 'inquiries':
        return [this.#undecidable(QueueRow.undecidable)];
      case 'returns':
        return [this.#undecidable(QueueRow.return)];
      case 'holds':
        return [this.#undecidable(QueueRow.hold)];
      case 'unmatched_callbacks':
        return eachShard(ORPHAN_SHARDS).map((shard) => this.#ownCallbacks(shard));
    }
  }

  /** Entries that no job can resolve are in one shard of the index. */
  #undecidable(queue: (typeof QueueRow)[keyof typeof QueueRow]): Promise<QueryCommandOutput> {
    const { name: IndexName, partitionKey } = RegistryTable.queuesIndex;
    return readWithRetries(this.#pacing, () =>
      this.#client.send(
        new QueryCommand({
          TableName: this.#tables.registry,
          IndexName,
          KeyConditionExpression: '#part = :part',
          FilterExpression: IS_UNDECIDABLE,
          ExpressionAttributeNames: { '#part': partitionKey },
          ExpressionAttributeValues: { ':part': `${queue}${OPERATOR_SHARD}`, ':true': true },
          Limit: NEEDING_AT_ONCE,
        }),
      ),
    );
  }

  #ownCallbacks(shard: number): Promise<QueryCommandOutput> {
    return readWithRetries(this.#pacing, () =>
      this.#client.send(
        new QueryCommand({
          TableName: this.#tables.registry,
          KeyConditionExpression: '#pk = :pk AND #sk < :foreign',
          // Earlier versions stored the callbacks of other programs without the prefix `FOREIGN_SORT`.
          FilterExpression: 'attribute_not_exists(isForeign) OR isForeign = :false',
          ExpressionAttributeNames: { '#pk': KeyAttribute.partition, '#sk': KeyAttribute.sort },
          ExpressionAttributeValues: {
            ':pk': `${RegistryRow.keptOrphan}${shard}`,
            ':foreign': FOREIGN_SORT,
            ':false': false,
          },
          Limit: NEEDING_AT_ONCE,
        }),
      ),
    );
  }

  async page(queue: QueueName, { after, limit }: { readonly after?: QueuePosition; readonly limit: number }) {
    const found: Found[] = [];
    const shards = shardsOf(queue);
    for (let shard = after?.shard ?? 0; shard < shards && found.length < limit; shard += 1) {
      const behind = shard === after?.shard ? after.sort : undefined;
      found.push(...(await this.#shard(queue, shard, limit - found.length, behind)));
    }
    return found;
  }

  async #shard(queue: QueueName, shard: number, limit: number, after?: string): Promise<readonly Found[]> {
    if (queue === 'claims') return this.#claims(shard, limit, after);
    const { prefix, entryOf } = ROWS[queue];
    const pages = { table: this.#tables.registry, partition: `${prefix}${shard}`, pacing: this.#pacing };
    const items = await rowsAfter(this.#client, pages, { after, limit });
    return items.map((item) => ({
      place: { shard, sort: String(item[KeyAttribute.sort]) },
      entry: readableEntry(() => entryOf(item)),
    }));
  }

  /** The index is eventually consistent. */
  async #claims(shard: number, limit: number, after?: string): Promise<readonly Found[]> {
    const { openClaimsIndex, partitionKey: key } = IdempotencyTable;
    const { partitionKey, sortKey } = openClaimsIndex;
    const [, dueAtMs, record] = CLAIM_SORT_KEY_PATTERN.exec(after ?? '') ?? [];
    const found: Item[] = [];
    let from: Item | undefined =
      record === undefined ? undefined : { [key]: record, [partitionKey]: shard, [sortKey]: Number(dueAtMs) };
    do {
      const output = await this.#openClaims(shard, IS_WITHOUT_OWNER, Math.max(limit, CLAIMS_AT_ONCE), from);
      found.push(...(output.Items ?? []));
      from = output.LastEvaluatedKey;
    } while (from !== undefined && found.length < limit);
    return found.slice(0, limit).map((item) => ({
      place: { shard, sort: `${Number(item[sortKey])} ${String(item[key])}` },
      entry: readableEntry(() => ENTRY_OF.claims(parseRecord(item))),
    }));
  }

  #openClaims(
    shard: number,
    filter: typeof IS_WITHOUT_OWNER | typeof IS_UNDECIDABLE,
    limit: number,
    from?: Item,
  ): Promise<QueryCommandOutput> {
    const { name: IndexName, partitionKey } = IdempotencyTable.openClaimsIndex;
    const values = filter === IS_WITHOUT_OWNER ? { ':now': this.#pacing.clock.nowMs() } : { ':true': true };
    const input = {
      TableName: this.#tables.idempotency,
      IndexName,
      KeyConditionExpression: '#shard = :shard',
      FilterExpression: filter,
      ExpressionAttributeNames: { '#shard': partitionKey },
      ExpressionAttributeValues: { ':shard': shard, ...values },
      Limit: limit,
      ...defined({ ExclusiveStartKey: from }),
    };
    return readWithRetries(this.#pacing, () => this.#client.send(new QueryCommand(input)));
  }
}

function rendered(queue: QueueName, item: Item): ReturnType<Rows['entryOf']> {
  return queue === 'claims' ? ENTRY_OF.claims(parseRecord(item)) : ROWS[queue].entryOf(item);
}

function shardsOf(queue: QueueName): number {
  return queue === 'claims' ? mostShards().claims : ROWS[queue].shards();
}
