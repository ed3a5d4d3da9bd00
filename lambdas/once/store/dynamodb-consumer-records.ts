import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import type { OperationId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import { type Pacing, readWithRetries, writeConditionally } from '../../kernel/platform/attempts.ts';
import type { Consumption, OpenConsumption } from '../domain/consumption.ts';
import type { EffectRecord } from '../domain/idempotency.ts';
import type { ConsumerClaims, ConsumerEffects, ConsumerWrite, RecordOutcome } from '../use/consumer-records.ts';
import { openConsumptionItem, parseConsumption, unchangedCondition, writeItem } from './consumer-items.ts';
import { effectRecordItem, parseEffectRecord, recordKey } from './record-items.ts';
import { isRefused, itemOf, RECORD_IS_NEW, transactOnce } from './transact-items.ts';

/** Tables that the consumer does not write may be omitted. */
export interface ConsumerTables {
  readonly idempotency: string;
  readonly views?: string;
  readonly registry?: string;
}

export class DynamoDbConsumerRecords implements ConsumerEffects, ConsumerClaims {
  readonly #client: DynamoDBDocumentClient;
  readonly #tables: ConsumerTables;
  readonly #pacing: Pacing;

  constructor(client: DynamoDBDocumentClient, tables: ConsumerTables, pacing: Pacing) {
    this.#client = client;
    this.#tables = tables;
    this.#pacing = pacing;
  }

  async readEffect(operationId: OperationId): Promise<EffectRecord | undefined> {
    const output = await readWithRetries(this.#pacing, () =>
      this.#client.send(
        new GetCommand({ TableName: this.#tables.idempotency, Key: recordKey(operationId), ConsistentRead: true }),
      ),
    );
    return output.Item === undefined ? undefined : parseEffectRecord(output.Item);
  }

  async recordOnce(record: EffectRecord, writes: readonly ConsumerWrite[]): Promise<RecordOutcome> {
    const items = [
      {
        Put: {
          TableName: this.#tables.idempotency,
          Item: effectRecordItem(record),
          ConditionExpression: RECORD_IS_NEW,
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
        },
      },
      ...writes.map((write) => writeItem(this.#tableOf(write), write)),
    ];
    const written = await transactOnce(this.#client, this.#pacing, items, async () => {
      const found = await this.readEffect(record.operationId);
      return found === undefined || found.owner === record.owner ? undefined : found;
    });
    if (written.kind === 'applied') return { kind: 'recorded' };
    if (written.kind === 'early') return { kind: 'recorded_before' };
    const [recordReason, ...reasons] = written.reasons;
    const existing = itemOf(recordReason);
    if (existing !== undefined) {
      // If this call's first attempt was applied but its response was lost, the record is this call's own.
      return { kind: parseEffectRecord(existing).owner === record.owner ? 'recorded' : 'recorded_before' };
    }
    return { kind: 'refused', writes: reasons.flatMap((reason, index) => (isRefused(reason) ? [index] : [])) };
  }

  async claim(pending: OpenConsumption, replaces?: OpenConsumption): ReturnType<ConsumerClaims['claim']> {
    const found = await this.#put(
      openConsumptionItem(pending),
      replaces === undefined ? { ConditionExpression: RECORD_IS_NEW } : unchangedCondition(replaces),
    );
    const isOurs = found.kind === 'refused' && found.found?.status === 'pending' && found.found.owner === pending.owner;
    return found.kind === 'applied' || isOurs ? { kind: 'claimed' } : found;
  }

  async complete(record: EffectRecord): Promise<boolean> {
    const found = await this.#put(
      effectRecordItem(record),
      unchangedCondition({ ...PENDING, operationId: record.operationId, owner: record.owner }),
    );
    if (found.kind === 'applied') return true;
    return found.found?.status === 'completed' && found.found.record.owner === record.owner;
  }

  async fail(pending: OpenConsumption): Promise<void> {
    await this.#put(openConsumptionItem({ ...pending, status: 'failed' }), unchangedCondition(pending));
  }

  /** A retry is safe, because the condition is false after the write was applied. */
  async #put(
    item: Record<string, unknown>,
    condition: Partial<ConstructorParameters<typeof PutCommand>[0]>,
  ): Promise<{ readonly kind: 'applied' } | { readonly kind: 'refused'; readonly found: Consumption | undefined }> {
    const written = await writeConditionally(this.#pacing, () =>
      this.#client.send(
        new PutCommand({
          TableName: this.#tables.idempotency,
          Item: item,
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
          ...condition,
        }),
      ),
    );
    if (written.kind !== 'refused') return { kind: 'applied' };
    const existing = itemOf(written.reasons[0]);
    return { kind: 'refused', found: existing === undefined ? undefined : parseConsumption(existing) };
  }

  #tableOf({ row }: ConsumerWrite): string {
    const name = this.#tables[row.table];
    invariant(name !== undefined, `the consumer writes to the table ${row.table}, to which its function has no access`);
    return name;
  }
}

/** The status that the condition of `complete` requires, and placeholders for the fields that it does not check. */
const PENDING = { status: 'pending', attempt: 1, claimedAtMs: 0, leaseExpiresAtMs: 0 } as const;
