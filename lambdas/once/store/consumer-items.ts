import * as z from 'zod';
import { IdempotencyTable, KeyAttribute } from '../../kernel/contract/tables.ts';
import type { OwnerToken } from '../../kernel/ids.ts';
import { type Item } from '../../kernel/platform/items.ts';
import type { Consumption, OpenConsumption } from '../domain/consumption.ts';
import type { ConsumerWrite, RowCondition } from '../use/consumer-records.ts';
import { operationOfKey, parseEffectRecord, recordKey } from './record-items.ts';
import { ROW_IS_NEW, type TransactItem } from './transact-items.ts';

/** Upper case, like the statuses of Powertools' records. */
const STATUS = { pending: 'PENDING', failed: 'FAILED' } as const;

const openItem = z.object({
  [IdempotencyTable.partitionKey]: z.string(),
  status: z.enum([STATUS.pending, STATUS.failed]),
  owner: z.string(),
  attempt: z.int().min(1),
  claimedAtMs: z.int(),
  leaseExpiresAtMs: z.int(),
});

/** Without time to live, because an open call must not be lost. Not in the index of open claims, because the queue redelivers. */
export function openConsumptionItem(consumption: OpenConsumption): Item {
  const { operationId, status, owner, attempt, claimedAtMs, leaseExpiresAtMs } = consumption;
  return { ...recordKey(operationId), status: STATUS[status], owner, attempt, claimedAtMs, leaseExpiresAtMs };
}

export function parseConsumption(item: Item): Consumption {
  if (item['status'] === 'COMPLETED') return { status: 'completed', record: parseEffectRecord(item) };
  const { pk, status, owner, ...rest } = openItem.parse(item);
  return {
    ...rest,
    status: status === STATUS.pending ? 'pending' : 'failed',
    operationId: operationOfKey(pk),
    owner: owner as OwnerToken,
  };
}

/** The condition that the record is unchanged since it was read or written. */
export function whileStill({
  owner,
  status,
}: OpenConsumption): Pick<
  NonNullable<TransactItem['Put']>,
  'ConditionExpression' | 'ExpressionAttributeNames' | 'ExpressionAttributeValues'
> {
  return {
    ConditionExpression: '#owner = :owner AND #status = :status',
    ExpressionAttributeNames: { '#owner': 'owner', '#status': 'status' },
    ExpressionAttributeValues: { ':owner': owner, ':status': STATUS[status] },
  };
}

/** A consumer's write as an item of a transaction. */
export function writeItem(tableName: string, write: ConsumerWrite): TransactItem {
  const { row, when } = write;
  const key = { [KeyAttribute.partition]: row.partition, [KeyAttribute.sort]: row.sort };
  const condition = when === undefined ? {} : conditionOf(when);
  return write.kind === 'put'
    ? { Put: { TableName: tableName, Item: { ...write.attributes, ...key }, ...condition } }
    : { Delete: { TableName: tableName, Key: key, ...condition } };
}

function conditionOf(when: RowCondition): Pick<NonNullable<TransactItem['Put']>, 'ConditionExpression'> {
  switch (when.kind) {
    case 'absent':
      return { ConditionExpression: ROW_IS_NEW };
    case 'older':
      return olderOf(when);
    case 'equals':
      return compared('#attribute = :value', when.attribute, when.value);
  }
}

function olderOf({ attribute, than, of }: Extract<RowCondition, { kind: 'older' }>) {
  if (of === undefined) return compared(`${ROW_IS_NEW} OR #attribute < :value`, attribute, than);
  const condition = compared(`${ROW_IS_NEW} OR (#attribute < :value AND #of = :of)`, attribute, than);
  return {
    ...condition,
    ExpressionAttributeNames: { ...condition.ExpressionAttributeNames, '#of': of.attribute },
    ExpressionAttributeValues: { ...condition.ExpressionAttributeValues, ':of': of.value },
  };
}

function compared(expression: string, attribute: string, value: string | number) {
  return {
    ConditionExpression: expression,
    ExpressionAttributeNames: { '#attribute': attribute },
    ExpressionAttributeValues: { ':value': value },
  };
}
