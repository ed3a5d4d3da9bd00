import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { IdempotencyTable } from '../../kernel/contract/tables.ts';
import type { OperationId, OwnerToken } from '../../kernel/ids.ts';
import { type Pacing, readWithRetries, writeConditionally } from '../../kernel/platform/attempts.ts';
import type { CompletedRecord, EffectRecord, OpenRecord } from '../../once/domain/idempotency.ts';
import { DynamoDbRecords, existingRecord } from '../../once/store/dynamodb-records.ts';
import { effectRecordItem, parseEffectRecord, recordKey } from '../../once/store/record-items.ts';
import { claimItem, completionItem, HELD_BY_OWNER, HELD_NAMES } from '../../once/store/record-writes.ts';
import { isRefused, itemOf, RECORD_IS_NEW, type TransactItem, transactOnce } from '../../once/store/transact-items.ts';
import type { ClaimOutcome, CommitOutcome, ExpectedRecord } from '../../once/use/record-store.ts';
import type { ConsumedRecords, RequestRecords } from '../use/own-records.ts';

export type DocumentClient = DynamoDBDocumentClient;

/** Stores records in one of the team's tables, in one transaction with the team's own rows. */
export class OwnTable extends DynamoDbRecords implements RequestRecords, ConsumedRecords {
  readonly #client: DynamoDBDocumentClient;
  readonly #tables: { readonly idempotency: string };
  readonly #pacing: Pacing;

  constructor(client: DynamoDBDocumentClient, table: string, pacing: Pacing) {
    const tables = { idempotency: table };
    super(client, tables, pacing);
    this.#client = client;
    this.#tables = tables;
    this.#pacing = pacing;
  }

  async claim(record: OpenRecord): Promise<Exclude<ClaimOutcome, { kind: 'transition_exists' }>> {
    const written = await transactOnce(this.#client, this.#pacing, [claimItem(this.#tables, record)]);
    const found = existingRecord(written);
    if (written.kind === 'applied' || found === undefined || found.owner === record.owner) return { kind: 'claimed' };
    return { kind: 'record_exists', record: found };
  }

  async commit(
    record: CompletedRecord,
    expects: ExpectedRecord,
    writes: readonly TransactItem[],
  ): Promise<CommitOutcome> {
    const items = [completionItem(this.#tables, record, expects), ...writes];
    const written = await transactOnce(this.#client, this.#pacing, items);
    if (written.kind === 'applied') return { kind: 'committed' };
    const found = existingRecord(written);
    // This call wrote the record: an earlier attempt was applied, but its response was lost.
    if (found?.status === 'COMPLETED' && found.owner === record.owner) return { kind: 'committed' };
    const [recordReason] = written.kind === 'refused' ? written.reasons : [];
    return isRefused(recordReason) ? { kind: 'fenced', record: found } : { kind: 'transition_exists' };
  }

  /**
   * If another owner has taken over the lease, nothing is written:
   *
   *   A ── claim ── part 1 ✓ … stopped ………………………… ── part 2 ✗ (the owner is B)
   *   B ──────────────────────────── take over ── part 2 ✓ ── commit ✓
   */
  async renew(
    operationId: OperationId,
    owner: OwnerToken,
    leaseExpiresAtMs: number,
    writes: readonly TransactItem[],
  ): Promise<'renewed' | 'fenced' | 'refused'> {
    const update = this.#leaseOf(operationId, owner, leaseExpiresAtMs);
    const written = await transactOnce(this.#client, this.#pacing, [{ Update: update }, ...writes]);
    if (written.kind === 'applied') return 'renewed';
    const [recordReason] = written.kind === 'refused' ? written.reasons : [];
    return isRefused(recordReason) ? 'fenced' : 'refused';
  }

  /** The next attempt is marked `again`, because this attempt may have called other systems. */
  override async release(operationId: OperationId, owner: OwnerToken): Promise<void> {
    await writeConditionally(this.#pacing, () =>
      this.#client.send(new UpdateCommand(this.#leaseOf(operationId, owner, 0))),
    );
  }

  async isRecorded(operationId: OperationId): Promise<boolean> {
    const { Item } = await readWithRetries(this.#pacing, () =>
      this.#client.send(
        new GetCommand({
          TableName: this.#tables.idempotency,
          Key: recordKey(operationId),
          // Read only the key, because the application's client may return numbers in a custom form.
          ProjectionExpression: IdempotencyTable.partitionKey,
          ConsistentRead: true,
        }),
      ),
    );
    return Item !== undefined;
  }

  async recordEffect(
    record: EffectRecord,
    writes: readonly TransactItem[],
  ): Promise<'recorded' | 'recorded_before' | 'refused'> {
    const TableName = this.#tables.idempotency;
    const put = { TableName, Item: effectRecordItem(record), ConditionExpression: RECORD_IS_NEW };
    const items = [{ Put: { ...put, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const } }, ...writes];
    const written = await transactOnce(this.#client, this.#pacing, items);
    if (written.kind !== 'refused') return 'recorded';
    const existing = itemOf(written.reasons[0]);
    if (existing === undefined) return 'refused';
    return parseEffectRecord(existing).owner === record.owner ? 'recorded' : 'recorded_before';
  }

  #leaseOf(operationId: OperationId, owner: OwnerToken, leaseExpiresAtMs: number) {
    return {
      TableName: this.#tables.idempotency,
      Key: recordKey(operationId),
      UpdateExpression: 'SET leaseExpiresAtMs = :lease',
      ConditionExpression: HELD_BY_OWNER,
      ExpressionAttributeNames: HELD_NAMES,
      ExpressionAttributeValues: { ':owner': owner, ':open': 'INPROGRESS', ':lease': leaseExpiresAtMs },
    };
  }
}
