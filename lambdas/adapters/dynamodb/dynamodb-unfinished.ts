import type { DeleteCommandInput, DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { DeleteCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import type { ChargeToReturn, Inquiry, PaymentStore } from '../../app/ports/payment-store.ts';
import type { UnfinishedWork } from '../../app/ports/unfinished-work.ts';
import { IdempotencyTable, INDEX_SHARDS, KeyAttribute } from '../../contract/tables.ts';
import type { OpenRecord } from '../../core/idempotency.ts';
import { isLeased } from '../../core/idempotency.ts';
import { type Pacing, readWithRetries, writeConditionally } from './attempts.ts';
import {
  chargeToReturnKey,
  inquiriesPartition,
  inquiryKey,
  parseChargeToReturn,
  parseInquiry,
  QUEUE_SHARDS,
  returnsPartition,
} from './effect-items.ts';
import { type Item, operationOfKey } from './items.ts';
import type { StoreTables } from './transact-items.ts';

/** The queues of what is not finished: the sparse index of open claims, and two kinds of rows in the Registry. */
export class DynamoDbUnfinishedWork implements UnfinishedWork {
  readonly #client: DynamoDBDocumentClient;
  readonly #tables: StoreTables;
  readonly #pacing: Pacing;
  readonly #store: Pick<PaymentStore, 'readRecord'>;

  constructor(
    client: DynamoDBDocumentClient,
    tables: StoreTables,
    pacing: Pacing,
    store: Pick<PaymentStore, 'readRecord'>,
  ) {
    this.#client = client;
    this.#tables = tables;
    this.#pacing = pacing;
    this.#store = store;
  }

  /** The index holds keys alone and lags: the record itself says whether its claim is open, and whose it is. */
  async staleClaims(nowMs: number, limit: number): Promise<readonly OpenRecord[]> {
    const { name, partitionKey } = IdempotencyTable.openClaimsIndex;
    const found: OpenRecord[] = [];
    for (let shard = 0; shard < INDEX_SHARDS && found.length < limit; shard += 1) {
      const keys = await this.#query({
        TableName: this.#tables.idempotency,
        IndexName: name,
        KeyConditionExpression: '#shard = :shard',
        ExpressionAttributeNames: { '#shard': partitionKey },
        ExpressionAttributeValues: { ':shard': shard },
        Limit: limit - found.length,
      });
      for (const key of keys) {
        const record = await this.#store.readRecord(operationOfKey(String(key[IdempotencyTable.partitionKey])));
        if (record?.status === 'INPROGRESS' && !isLeased(record, nowMs)) found.push(record);
      }
    }
    return found;
  }

  async inquiries(limit: number): Promise<readonly Inquiry[]> {
    return (await this.#queued(inquiriesPartition, limit)).map(parseInquiry);
  }

  async closeInquiry(inquiry: Inquiry): Promise<void> {
    await this.#delete(inquiryKey(inquiry));
  }

  async chargesToReturn(limit: number): Promise<readonly ChargeToReturn[]> {
    return (await this.#queued(returnsPartition, limit)).map(parseChargeToReturn);
  }

  /**
   *   resolver  ── read: void ── let go ─────────────────────── delete ✗ it is a refund now
   *   callback                        └─ taken: queue as refund ─┘
   */
  async closeReturn(charge: ChargeToReturn): Promise<void> {
    const { by, foundAtMs } = charge;
    await this.#delete(chargeToReturnKey(charge), {
      ConditionExpression: '#by = :by AND #foundAtMs = :foundAtMs',
      ExpressionAttributeNames: { '#by': 'by', '#foundAtMs': 'foundAtMs' },
      ExpressionAttributeValues: { ':by': by, ':foundAtMs': foundAtMs },
    });
  }

  async #queued(partition: (shard: number) => string, limit: number): Promise<readonly Item[]> {
    const shards = Array.from({ length: QUEUE_SHARDS }, (_, shard) => shard);
    const parts = await Promise.all(
      shards.map((shard) =>
        this.#query({
          TableName: this.#tables.registry,
          KeyConditionExpression: '#pk = :pk',
          ExpressionAttributeNames: { '#pk': KeyAttribute.partition },
          ExpressionAttributeValues: { ':pk': partition(shard) },
          ConsistentRead: true,
          Limit: Math.max(1, Math.floor(limit / QUEUE_SHARDS)),
        }),
      ),
    );
    return parts.flat();
  }

  async #query(input: ConstructorParameters<typeof QueryCommand>[0]): Promise<readonly Item[]> {
    const output = await readWithRetries(this.#pacing, () => this.#client.send(new QueryCommand(input)));
    return output.Items ?? [];
  }

  async #delete(key: Item, condition: Omit<DeleteCommandInput, 'TableName' | 'Key'> = {}): Promise<void> {
    await writeConditionally(this.#pacing, () =>
      this.#client.send(new DeleteCommand({ TableName: this.#tables.registry, Key: key, ...condition })),
    );
  }
}
