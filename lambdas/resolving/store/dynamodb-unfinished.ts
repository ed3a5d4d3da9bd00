import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { DeleteCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { IdempotencyTable, INDEX_SHARDS } from '../../kernel/contract/tables.ts';
import { isFault } from '../../kernel/faults.ts';
import { fromTurn, turnOf } from '../../kernel/looks.ts';
import { type Pacing, readWithRetries, writeConditionally } from '../../kernel/platform/attempts.ts';
import { type Item } from '../../kernel/platform/items.ts';
import {
  failOnUnreadable,
  type Queue,
  type QueueTools,
  readQueue,
  type Unreadable,
  unreadableRow,
} from '../../kernel/platform/queue-rows.ts';
import type { IdempotencyRecord, OpenRecord } from '../../once/domain/idempotency.ts';
import { isLeased } from '../../once/domain/idempotency.ts';
import { operationOfKey, recordKey } from '../../once/store/record-items.ts';
import type { StoreTables } from '../../once/store/transact-items.ts';
import {
  chargeToReturnKey,
  inquiriesPartition,
  inquiryKey,
  parseChargeToReturn,
  parseInquiry,
  returnsPartition,
} from '../../payments/store/queue-items.ts';
import type { ChargeToReturn, Inquiry, PaymentStore } from '../../payments/use/payment-store.ts';
import type { UnfinishedWork } from '../../payments/use/unfinished-work.ts';
import { type Condition, markRow } from './dynamodb-due-queue.ts';

const INQUIRIES: Queue<Inquiry> = {
  partition: inquiriesPartition,
  prefixes: ['pay_'],
  parse: parseInquiry,
};
const RETURNS: Queue<ChargeToReturn> = {
  partition: returnsPartition,
  prefixes: ['pay_'],
  parse: parseChargeToReturn,
};

/** The queues of unfinished work: the sparse index of open claims, and the inquiries and returns in the Registry. */
export class DynamoDbUnfinishedWork implements UnfinishedWork {
  readonly #client: DynamoDBDocumentClient;
  readonly #tables: StoreTables;
  readonly #pacing: Pacing;
  readonly #store: Pick<PaymentStore, 'readRecord'>;
  readonly #queues: QueueTools;

  /** @param unreadable receives rows that cannot be parsed @default the read fails */
  constructor(
    client: DynamoDBDocumentClient,
    tables: StoreTables,
    pacing: Pacing,
    store: Pick<PaymentStore, 'readRecord'>,
    unreadable: Unreadable = failOnUnreadable,
  ) {
    this.#client = client;
    this.#tables = tables;
    this.#pacing = pacing;
    this.#store = store;
    this.#queues = { client, table: tables.registry, pacing, unreadable };
  }

  /** The index has only keys and is eventually consistent, so the record is read for its status and owner. */
  async staleClaims(nowMs: number, limit: number): Promise<readonly OpenRecord[]> {
    const shards = Array.from({ length: INDEX_SHARDS }, (_, shard) => shard);
    const keys = (await Promise.all(shards.map((shard) => this.#openClaims(shard, nowMs, limit)))).flat();
    const found: OpenRecord[] = [];
    for (const key of fromTurn(keys, nowMs).slice(0, limit)) {
      const record = await this.#readRecord(key);
      if (record?.status === 'INPROGRESS' && !isLeased(record, nowMs)) found.push(record);
    }
    return found;
  }

  async markClaim({ operationId }: OpenRecord): Promise<void> {
    const isOpen = {
      ConditionExpression: '#status = :open',
      ExpressionAttributeNames: { '#status': 'status' },
      ExpressionAttributeValues: { ':open': 'INPROGRESS' },
    };
    await markRow({ ...this.#queues, table: this.#tables.idempotency }, recordKey(operationId), isOpen, true);
  }

  async inquiries(limit: number): Promise<readonly Inquiry[]> {
    return readQueue(this.#queues, INQUIRIES, limit);
  }

  async closeInquiry(inquiry: Inquiry): Promise<void> {
    await this.#delete(inquiryKey(inquiry), isUnchanged(inquiry));
  }

  async markInquiry(inquiry: Inquiry, undecidable: boolean): Promise<void> {
    await markRow(this.#queues, inquiryKey(inquiry), isUnchanged(inquiry), undecidable);
  }

  async chargesToReturn(limit: number): Promise<readonly ChargeToReturn[]> {
    return readQueue(this.#queues, RETURNS, limit);
  }

  /**
   *   resolver  ── read: void ── void ────────────────────────── delete ✗ now a refund
   *   callback                        └─ captured: queue as refund ─┘
   */
  async closeReturn(charge: ChargeToReturn): Promise<void> {
    await this.#delete(chargeToReturnKey(charge), isUnchangedReturn(charge));
  }

  async markReturn(charge: ChargeToReturn, undecidable: boolean): Promise<void> {
    await markRow(this.#queues, chargeToReturnKey(charge), isUnchangedReturn(charge), undecidable);
  }

  /** The oldest claims of a shard. If there are more, also claims from a later start that changes every minute. */
  async #openClaims(shard: number, nowMs: number, limit: number): Promise<readonly Item[]> {
    const { name, partitionKey, sortKey } = IdempotencyTable.openClaimsIndex;
    const since = (fromMs: number) =>
      this.#query({
        TableName: this.#tables.idempotency,
        IndexName: name,
        KeyConditionExpression: '#shard = :shard AND #claimedAtMs >= :fromMs',
        ExpressionAttributeNames: { '#shard': partitionKey, '#claimedAtMs': sortKey },
        ExpressionAttributeValues: { ':shard': shard, ':fromMs': fromMs },
        Limit: limit,
      });
    const oldest = await since(0);
    if (oldest.length < limit) return oldest;
    const oldestMs = Number(oldest[0]?.[sortKey]);
    const later = await since(Math.floor(oldestMs + turnOf(nowMs) * Math.max(0, nowMs - oldestMs)));
    const keys = [...oldest, ...later].map((key) => [key[IdempotencyTable.partitionKey], key] as const);
    return [...new Map(keys).values()];
  }

  async #readRecord(key: Item): Promise<IdempotencyRecord | undefined> {
    try {
      return await this.#store.readRecord(operationOfKey(String(key[IdempotencyTable.partitionKey])));
    } catch (cause) {
      // A fault of the store says nothing about the row.
      if (isFault(cause)) throw cause;
      this.#queues.unreadable(unreadableRow(key, cause));
      return undefined;
    }
  }

  async #query(input: ConstructorParameters<typeof QueryCommand>[0]): Promise<readonly Item[]> {
    const output = await readWithRetries(this.#pacing, () => this.#client.send(new QueryCommand(input)));
    return output.Items ?? [];
  }

  async #delete(key: Item, condition: Condition): Promise<void> {
    await writeConditionally(this.#pacing, () =>
      this.#client.send(new DeleteCommand({ TableName: this.#tables.registry, Key: key, ...condition })),
    );
  }
}

function isUnchanged({ claimedAtMs }: Inquiry): Condition {
  return {
    ConditionExpression: '#claimedAtMs = :claimedAtMs',
    ExpressionAttributeNames: { '#claimedAtMs': 'claimedAtMs' },
    ExpressionAttributeValues: { ':claimedAtMs': claimedAtMs },
  };
}

function isUnchangedReturn({ by, foundAtMs }: ChargeToReturn): Condition {
  return {
    ConditionExpression: '#by = :by AND #foundAtMs = :foundAtMs',
    ExpressionAttributeNames: { '#by': 'by', '#foundAtMs': 'foundAtMs' },
    ExpressionAttributeValues: { ':by': by, ':foundAtMs': foundAtMs },
  };
}
