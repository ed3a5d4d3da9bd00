import { type DynamoDBDocumentClient, GetCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { RegistryRow } from '../../kernel/contract/rows.ts';
import { IdempotencyTable, INDEX_SHARDS, KeyAttribute } from '../../kernel/contract/tables.ts';
import { LEASE_SECONDS } from '../../kernel/contract/timing.ts';
import { DUE_SHARDS } from '../../kernel/due-sort.ts';
import { type Pacing, readWithRetries } from '../../kernel/platform/attempts.ts';
import type { Item } from '../../kernel/platform/items.ts';
import { QUEUE_SHARDS } from '../../kernel/platform/queue-rows.ts';
import { rowsAfter } from '../../kernel/platform/rows-after.ts';
import { operationOfKey, parseRecord, recordKey } from '../../once/store/record-items.ts';
import type { StoreTables } from '../../once/store/transact-items.ts';
import {
  HOLDS,
  ORPHAN_SHARDS,
  parseChargeToReturn,
  parseInquiry,
  parseOpenOrder,
  parseOrphan,
} from '../../payments/store/queue-items.ts';
import {
  CLAIM_SORT,
  type QueueEntry,
  type QueueLists,
  type QueueName,
  type QueuePlace,
  type QueueSummary,
} from '../use/queue-lists.ts';

interface Rows {
  readonly prefix: string;
  readonly shards: number;
  readonly entryOf: (
    item: Item,
  ) => Omit<QueueEntry, 'needsOperator'> & { readonly needsOperator?: boolean | undefined };
}

const orphans = (item: Item) => {
  const { event, receivedAtMs: sinceMs } = parseOrphan(item);
  return { ...(event.paymentId === undefined ? {} : { about: event.paymentId }), part: event.chargeId, sinceMs };
};

const ROWS: Readonly<Record<Exclude<QueueName, 'claims'>, Rows>> = {
  inquiries: {
    prefix: RegistryRow.inquiry,
    shards: QUEUE_SHARDS,
    entryOf: (item) => {
      const { paymentId, operationId, claimedAtMs, undecidable } = parseInquiry(item);
      return { about: paymentId, part: operationId, sinceMs: claimedAtMs, needsOperator: undecidable };
    },
  },
  returns: {
    prefix: RegistryRow.return,
    shards: QUEUE_SHARDS,
    entryOf: (item) => {
      const { paymentId, chargeId, foundAtMs, undecidable } = parseChargeToReturn(item);
      return { about: paymentId, part: chargeId, sinceMs: foundAtMs, needsOperator: undecidable };
    },
  },
  orders: {
    prefix: RegistryRow.openOrder,
    shards: QUEUE_SHARDS,
    entryOf: (item) => {
      const { orderId, createdAtMs } = parseOpenOrder(item);
      return { about: orderId, sinceMs: createdAtMs };
    },
  },
  holds: {
    prefix: RegistryRow.hold,
    shards: DUE_SHARDS,
    entryOf: (item) => {
      const { paymentId, authorizedAtMs, undecidable } = HOLDS.parse(item);
      return { about: paymentId, sinceMs: authorizedAtMs, needsOperator: undecidable };
    },
  },
  orphans: { prefix: RegistryRow.orphan, shards: ORPHAN_SHARDS, entryOf: orphans },
  orphans_kept: {
    prefix: RegistryRow.keptOrphan,
    shards: ORPHAN_SHARDS,
    entryOf: (item) => ({ ...orphans(item), needsOperator: true }),
  },
};

/** Of each shard. */
const MOST_COUNTED = 125;

interface Found {
  readonly place: QueuePlace;
  readonly entry: QueueEntry;
}

/** Records that are read at once. */
const RECORDS_AT_ONCE = 10;

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
    const shards = Array.from({ length: shardsOf(queue) }, (_, shard) => shard);
    const found = await Promise.all(shards.map((shard) => this.#shard(queue, shard, MOST_COUNTED)));
    const times = found.flat().flatMap(({ entry: { sinceMs } }) => sinceMs ?? []);
    return {
      waiting: found.flat().length,
      hasMore: found.some((entries) => entries.length === MOST_COUNTED),
      ...(times.length === 0 ? {} : { oldestMs: Math.min(...times) }),
    };
  }

  async page(queue: QueueName, { after, limit }: { readonly after?: QueuePlace; readonly limit: number }) {
    const found: Found[] = [];
    const shards = shardsOf(queue);
    for (let shard = after?.shard ?? 0; shard < shards && found.length < limit; shard += 1) {
      const behind = shard === after?.shard ? after.sort : undefined;
      found.push(...(await this.#shard(queue, shard, limit - found.length, behind)));
    }
    return queue === 'claims' ? this.#withRecords(found) : found;
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

  /** Claims that are older than a lease, oldest first. The index is eventually consistent, and has only keys. */
  async #claims(shard: number, limit: number, after?: string): Promise<readonly Found[]> {
    const { openClaimsIndex, partitionKey: key } = IdempotencyTable;
    const { name, partitionKey, sortKey } = openClaimsIndex;
    const leasedMs = this.#pacing.clock.nowMs() - LEASE_SECONDS * 1000;
    const [, claimedAtMs, record] = CLAIM_SORT.exec(after ?? '') ?? [];
    // DynamoDB refuses a start outside the range of the query.
    if (Number(claimedAtMs) >= leasedMs) return [];
    const { Items = [] } = await readWithRetries(this.#pacing, () =>
      this.#client.send(
        new QueryCommand({
          TableName: this.#tables.idempotency,
          IndexName: name,
          KeyConditionExpression: '#shard = :shard AND #claimedAtMs < :leasedMs',
          ExpressionAttributeNames: { '#shard': partitionKey, '#claimedAtMs': sortKey },
          ExpressionAttributeValues: { ':shard': shard, ':leasedMs': leasedMs },
          Limit: limit,
          ...(record === undefined
            ? {}
            : { ExclusiveStartKey: { [key]: record, [partitionKey]: shard, [sortKey]: Number(claimedAtMs) } }),
        }),
      ),
    );
    return Items.map((item) => {
      const [sinceMs, row] = [Number(item[sortKey]), String(item[key])];
      const entry = { part: operationOfKey(row), sinceMs, needsOperator: false };
      return { place: { shard, sort: `${sinceMs} ${row}` }, entry };
    });
  }

  async #withRecords(found: readonly Found[]): Promise<readonly Found[]> {
    const read: Found[] = [];
    for (let from = 0; from < found.length; from += RECORDS_AT_ONCE) {
      const some = found.slice(from, from + RECORDS_AT_ONCE);
      read.push(...(await Promise.all(some.map((one) => this.#withRecord(one)))));
    }
    return read;
  }

  async #withRecord({ place, entry }: Found): Promise<Found> {
    const Key = recordKey(operationOfKey(place.sort.replace(CLAIM_SORT, '$2')));
    const { Item: item } = await readWithRetries(this.#pacing, () =>
      this.#client.send(new GetCommand({ TableName: this.#tables.idempotency, Key, ConsistentRead: true })),
    );
    if (item === undefined) return { place, entry };
    return { place, entry: { ...entry, ...readable(item, (row) => ({ about: parseRecord(row).paymentId })) } };
  }
}

function shardsOf(queue: QueueName): number {
  return queue === 'claims' ? INDEX_SHARDS : ROWS[queue].shards;
}

/** A row that cannot be read is shown as one: it is stuck, too. */
function readable(item: Item, entryOf: Rows['entryOf']): QueueEntry {
  try {
    const { needsOperator = false, ...entry } = entryOf(item);
    return { ...entry, needsOperator };
  } catch {
    return { needsOperator: true };
  }
}
