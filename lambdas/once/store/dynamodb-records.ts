import { type DynamoDBDocumentClient, GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { IdempotencyTable } from '../../kernel/contract/tables.ts';
import type { OperationId, OwnerToken } from '../../kernel/ids.ts';
import { type Pacing, readWithRetries, type WriteResult, writeConditionally } from '../../kernel/platform/attempts.ts';
import { earlierOwners, type IdempotencyRecord } from '../domain/idempotency.ts';
import type { RecordStore, Takeover, TakeoverOutcome } from '../use/record-store.ts';
import { parseRecord, RELEASED_MS, recordKey } from './record-items.ts';
import { HELD_BY_OWNER, HELD_NAMES } from './record-writes.ts';
import { itemOf, type StoreTables } from './transact-items.ts';

const { openClaimsIndex } = IdempotencyTable;

/** Subclasses add the claim and the commit of each kind of operation. */
export class DynamoDbRecords implements RecordStore {
  readonly #client: DynamoDBDocumentClient;
  readonly #tables: Pick<StoreTables, 'idempotency'>;
  readonly #pacing: Pacing;

  constructor(client: DynamoDBDocumentClient, tables: Pick<StoreTables, 'idempotency'>, pacing: Pacing) {
    this.#client = client;
    this.#tables = tables;
    this.#pacing = pacing;
  }

  async takeOver({ stale, owner, leaseExpiresAtMs }: Takeover): Promise<TakeoverOutcome> {
    const nowMs = this.#pacing.clock.nowMs();
    const written = await writeConditionally(this.#pacing, () =>
      this.#client.send(
        new UpdateCommand({
          TableName: this.#tables.idempotency,
          Key: recordKey(stale.operationId),
          UpdateExpression:
            'SET #owner = :new, leaseExpiresAtMs = :lease, #due = :lease, released = :false, changedAtMs = :now, earlier = :earlier',
          ConditionExpression: HELD_BY_OWNER,
          ExpressionAttributeNames: { ...HELD_NAMES, '#due': openClaimsIndex.sortKey },
          ExpressionAttributeValues: {
            ':owner': stale.owner,
            ':open': 'INPROGRESS',
            ':new': owner,
            ':lease': leaseExpiresAtMs,
            ':false': false,
            ':earlier': earlierOwners(stale, nowMs),
            ':now': nowMs,
          },
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        }),
      ),
    );
    const record = existingRecord(written);
    if (written.kind === 'applied' || record?.owner === owner) return { kind: 'taken' };
    return { kind: 'changed', record };
  }

  async release(operationId: OperationId, owner: OwnerToken): Promise<void> {
    await writeConditionally(this.#pacing, () =>
      this.#client.send(
        new UpdateCommand({
          TableName: this.#tables.idempotency,
          Key: recordKey(operationId),
          UpdateExpression:
            'SET leaseExpiresAtMs = :zero, released = :true, changedAtMs = :now, #due = claimedAtMs + :window',
          ConditionExpression: HELD_BY_OWNER,
          ExpressionAttributeNames: { ...HELD_NAMES, '#due': openClaimsIndex.sortKey },
          ExpressionAttributeValues: {
            ':owner': owner,
            ':open': 'INPROGRESS',
            ':zero': 0,
            ':window': RELEASED_MS,
            ':true': true,
            ':now': this.#pacing.clock.nowMs(),
          },
        }),
      ),
    );
  }

  async readRecord(operationId: OperationId): Promise<IdempotencyRecord | undefined> {
    const { Item } = await readWithRetries(this.#pacing, () =>
      this.#client.send(
        new GetCommand({ TableName: this.#tables.idempotency, Key: recordKey(operationId), ConsistentRead: true }),
      ),
    );
    return Item === undefined ? undefined : parseRecord(Item);
  }
}

/** Undefined unless the existing record made the condition of the write's first item false. */
export function existingRecord(written: WriteResult<IdempotencyRecord>): IdempotencyRecord | undefined {
  const item = written.kind === 'refused' ? itemOf(written.reasons[0]) : undefined;
  return item === undefined ? undefined : parseRecord(item);
}
