import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { RegistryRow } from '../../kernel/contract/rows.ts';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import { DUE_SHARDS } from '../../kernel/due-sort.ts';
import type { Pacing } from '../../kernel/platform/attempts.ts';
import type { Item } from '../../kernel/platform/items.ts';
import { QUEUE_SHARDS } from '../../kernel/platform/queue-rows.ts';
import { rowsAfter } from '../../kernel/platform/rows-after.ts';
import {
  HOLDS,
  ORPHAN_SHARDS,
  parseChargeToReturn,
  parseInquiry,
  parseOpenOrder,
  parseOrphan,
} from '../../payments/store/queue-items.ts';
import type { QueueEntry, QueueLists, QueueName, QueuePlace, QueueSummary } from '../use/queue-lists.ts';

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

const ROWS: Readonly<Record<QueueName, Rows>> = {
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

export class DynamoDbQueues implements QueueLists {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;
  readonly #pacing: Pacing;

  constructor(client: DynamoDBDocumentClient, registryTable: string, pacing: Pacing) {
    this.#client = client;
    this.#table = registryTable;
    this.#pacing = pacing;
  }

  async summary(queue: QueueName): Promise<QueueSummary> {
    const shards = Array.from({ length: ROWS[queue].shards }, (_, shard) => shard);
    const found = await Promise.all(shards.map((shard) => this.#shard(queue, shard, MOST_COUNTED)));
    const times = found.flat().flatMap(({ entry: { sinceMs } }) => sinceMs ?? []);
    return {
      waiting: found.flat().length,
      hasMore: found.some((entries) => entries.length === MOST_COUNTED),
      ...(times.length === 0 ? {} : { oldestMs: Math.min(...times) }),
    };
  }

  async page(queue: QueueName, { after, limit }: { readonly after?: QueuePlace; readonly limit: number }) {
    const found: { readonly place: QueuePlace; readonly entry: QueueEntry }[] = [];
    const { shards } = ROWS[queue];
    for (let shard = after?.shard ?? 0; shard < shards && found.length < limit; shard += 1) {
      const behind = shard === after?.shard ? after.sort : undefined;
      found.push(...(await this.#shard(queue, shard, limit - found.length, behind)));
    }
    return found;
  }

  async #shard(queue: QueueName, shard: number, limit: number, after?: string) {
    const { prefix, entryOf } = ROWS[queue];
    const pages = { table: this.#table, partition: `${prefix}${shard}`, pacing: this.#pacing };
    const items = await rowsAfter(this.#client, pages, { after, limit });
    return items.map((item) => ({
      place: { shard, sort: String(item[KeyAttribute.sort]) },
      entry: readable(item, entryOf),
    }));
  }
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
