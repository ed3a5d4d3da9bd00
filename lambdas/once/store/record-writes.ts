import type { CompletedRecord, OpenRecord } from '../domain/idempotency.ts';
import type { ExpectedRecord } from '../use/record-store.ts';
import { openRecordItem, toRecordItem } from './record-items.ts';
import { RECORD_IS_NEW, type StoreTables, type TransactItem } from './transact-items.ts';

/** In a transaction, the record's write is always the first item. */

/** False after a takeover or a completion. */
export const HELD_BY_OWNER = '#owner = :owner AND #status = :open';
export const HELD_NAMES = { '#owner': 'owner', '#status': 'status' };

export function claimItem({ idempotency }: Pick<StoreTables, 'idempotency'>, record: OpenRecord): TransactItem {
  return {
    Put: {
      TableName: idempotency,
      Item: openRecordItem(record),
      ConditionExpression: RECORD_IS_NEW,
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    },
  };
}

/**
 * Replaces the whole record, and thus sets the expiry and removes the record from the open-claims index.
 *
 * @param expects `open`: the owner must hold the claim; `absent`: the operation must have no record
 */
export function completionItem(
  { idempotency }: Pick<StoreTables, 'idempotency'>,
  record: CompletedRecord,
  expects: ExpectedRecord,
): TransactItem {
  const held = {
    ConditionExpression: HELD_BY_OWNER,
    ExpressionAttributeNames: HELD_NAMES,
    ExpressionAttributeValues: { ':owner': record.owner, ':open': 'INPROGRESS' },
  };
  return {
    Put: {
      TableName: idempotency,
      Item: toRecordItem(record),
      ...(expects === 'open' ? held : { ConditionExpression: RECORD_IS_NEW }),
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    },
  };
}
