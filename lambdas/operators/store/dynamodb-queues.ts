import { type DynamoDBDocumentClient, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { RegistryRow } from '../../kernel/contract/rows.ts';
import { IdempotencyTable, KeyAttribute } from '../../kernel/contract/tables.ts';
import { defined } from '../../kernel/defined.ts';
import { type Pacing, readWithRetries } from '../../kernel/platform/attempts.ts';
import type { Item } from '../../kernel/platform/items.ts';
import { rowsAfter } from '../../kernel/platform/rows-after.ts';
import { eachShard, mostShards } from '../../kernel/platform/shards.ts';
import { parseRecord } from '../../once/store/record-items.ts';
import type { StoreTables } from '../../once/store/transact-items.ts';
import {
  HOLDS,
  ORPHAN_SHARDS,
  parseChargeToReturn,
  parseInquiry,
  parseOpenOrder,
  parseOrphan,
  RETURN_SHARDS,
} from '../../payments/store/queue-items.ts';
import {
  CLAIM_SORT,
  type QueueEntry,
  type QueueLists,
  type QueueName,
  type QueuePosition,
  type QueueSummary,
} from '../use/queue-lists.ts';

interface Rows {
  readonly prefix: string;
  readonly shards: () => number;
  readonly entryOf: (
    item: Item,
  ) => Omit<QueueEntry, 'needsOperator'> & { readonly needsOperator?: boolean | undefined };
}

const orphans = (item: Item) => {
  const { event, receivedAtMs: sinceMs } = parseOrphan(item);
  return { ...defined({ about: event.paymentId }), part: event.chargeId, sinceMs };
};

const ROWS: Readonly<Record<Exclude<QueueName, 'claims'>, Rows>> = {
  inquiries: {
    prefix: RegistryRow.inquiry,
    shards: () => mostShards().queues,
    entryOf: (item) => {
      const { paymentId, operationId, claimedAtMs, undecidable } = parseInquiry(item);
      return { about: paymentId, part: operationId, sinceMs: claimedAtMs, needsOperator: undecidable };
    },
  },
  returns: {
    prefix: RegistryRow.return,
    shards: () => RETURN_SHARDS,
    entryOf: (item) => {
      const { paymentId, chargeId, foundAtMs, undecidable } = parseChargeToReturn(item);
      return { about: paymentId, part: chargeId, sinceMs: foundAtMs, needsOperator: undecidable };
    },
  },
  orders: {
    prefix: RegistryRow.openOrder,
    shards: () => mostShards().queues,
    entryOf: (item) => {
      const { orderId, createdAtMs } = parseOpenOrder(item);
      return { about: orderId, sinceMs: createdAtMs };
    },
  },
  holds: {
    prefix: RegistryRow.hold,
    shards: HOLDS.shards,
    entryOf: (item) => {
      const { paymentId, authorizedAtMs, undecidable } = HOLDS.parse(item);
      return { about: paymentId, sinceMs: authorizedAtMs, needsOperator: undecidable };
    },
  },
  orphans: { prefix: RegistryRow.orphan, shards: () => ORPHAN_SHARDS, entryOf: orphans },
  unmatched_callbacks: {
    prefix: RegistryRow.keptOrphan,
    shards: () => ORPHAN_SHARDS,
    entryOf: (item) => ({ ...orphans(item), needsOperator: true }),
  },
};

/** Maximum number of entries to count in each shard. */
const MAX_COUNTED = 125;

interface Found {
  readonly place: QueuePosition;
  readonly entry: QueueEntry;
}

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
    const found = await Promise.all(eachShard(shardsOf(queue)).map((shard) => this.#shard(queue, shard, MAX_COUNTED)));
    const times = found.flat().flatMap(({ entry: { sinceMs } }) => sinceMs ?? []);
    return {
      waiting: found.flat().length,
      hasMore: found.some((entries) => entries.length === MAX_COUNTED),
      ...(times.length === 0 ? {} : { oldestMs: Math.min(...times) }),
    };
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
      entry: readable(item, entryOf),
    }));
  }

  /** Lists claims without an active owner, longest overdue first. The index is eventually consistent. */
  async #claims(shard: number, limit: number, after?: string): Promise<readonly Found[]> {
    const { openClaimsIndex, partitionKey: key } = IdempotencyTable;
    const { name, partitionKey, sortKey } = openClaimsIndex;
    const [, dueAtMs, record] = CLAIM_SORT.exec(after ?? '') ?? [];
    const found: Item[] = [];
    let from: Item | undefined =
      record === undefined ? undefined : { [key]: record, [partitionKey]: shard, [sortKey]: Number(dueAtMs) };
    do {
      const input = {
        TableName: this.#tables.idempotency,
        IndexName: name,
        KeyConditionExpression: '#shard = :shard',
        FilterExpression: 'leaseExpiresAtMs <= :now',
        ExpressionAttributeNames: { '#shard': partitionKey },
        ExpressionAttributeValues: { ':shard': shard, ':now': this.#pacing.clock.nowMs() },
        Limit: limit,
        ...defined({ ExclusiveStartKey: from }),
      };
      const output = await readWithRetries(this.#pacing, () => this.#client.send(new QueryCommand(input)));
      found.push(...(output.Items ?? []));
      from = output.LastEvaluatedKey;
    } while (from !== undefined && found.length < limit);
    return found.slice(0, limit).map((item) => ({
      place: { shard, sort: `${Number(item[sortKey])} ${String(item[key])}` },
      entry: readable(item, claimOf),
    }));
  }
}

const claimOf: Rows['entryOf'] = (item) => {
  const record = parseRecord(item);
  const needsOperator = record.status === 'INPROGRESS' ? record.undecidable : false;
  return { about: record.paymentId, part: record.operationId, sinceMs: record.claimedAtMs, needsOperator };
};

function shardsOf(queue: QueueName): number {
  return queue === 'claims' ? mostShards().claims : ROWS[queue].shards();
}

/** Renders a row. An unreadable row becomes an entry without details, so that operators see that it is stuck, too. */
function readable(item: Item, entryOf: Rows['entryOf']): QueueEntry {
  try {
    const { needsOperator = false, ...entry } = entryOf(item);
    return { ...entry, needsOperator };
  } catch {
    return { needsOperator: true };
  }
}
