import { IdempotencyTable } from '../../kernel/contract/tables.ts';
import type { CompletedRecord, OpenRecord } from '../domain/idempotency.ts';
import type { ExpectedRecord } from '../use/record-store.ts';
import { completedRecordItem, openRecordItem, recordKey } from './record-items.ts';
import { RECORD_IS_NEW, type StoreTables, type TransactItem } from './transact-items.ts';

/** The writes of an idempotency record. In a transaction they are always the first item. */

/** The condition that fences an owner after a takeover. */
export const HELD_BY_OWNER = '#owner = :owner AND #status = :open';
export const HELD_NAMES = { '#owner': 'owner', '#status': 'status' };

export function claimItem({ idempotency }: StoreTables, record: OpenRecord): TransactItem {
  return {
    Put: {
      TableName: idempotency,
      Item: openRecordItem(record),
      ConditionExpression: RECORD_IS_NEW,
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    },
  };
}

/** The completing write. It removes the record from the index of open claims and sets its expiry. */
export function completionItem(tables: StoreTables, record: CompletedRecord, expects: ExpectedRecord): TransactItem {
  return expects === 'open' ? completion(tables, record) : recreation(tables, record);
}

function completion({ idempotency }: StoreTables, record: CompletedRecord): TransactItem {
  const { openClaimsIndex, timeToLiveAttribute } = IdempotencyTable;
  return {
    Update: {
      TableName: idempotency,
      Key: recordKey(record.operationId),
      UpdateExpression:
        'SET #status = :completed, answer = :answer, #expiry = :expiry REMOVE #shard, leaseExpiresAtMs, released',
      ConditionExpression: HELD_BY_OWNER,
      ExpressionAttributeNames: {
        ...HELD_NAMES,
        '#expiry': timeToLiveAttribute,
        '#shard': openClaimsIndex.partitionKey,
      },
      ExpressionAttributeValues: {
        ':owner': record.owner,
        ':open': 'INPROGRESS',
        ':completed': 'COMPLETED',
        ':answer': record.answer,
        ':expiry': record.expiresAtSeconds,
      },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    },
  };
}

function recreation({ idempotency }: StoreTables, record: CompletedRecord): TransactItem {
  return {
    Put: {
      TableName: idempotency,
      Item: completedRecordItem(record),
      ConditionExpression: RECORD_IS_NEW,
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    },
  };
}
