import * as z from 'zod';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import { type Item, itemSchema } from '../../kernel/platform/items.ts';
import type { Consumption, OpenConsumption } from '../domain/consumption.ts';
import type { ConsumerWrite, RowCondition } from '../use/consumer-records.ts';
import { fieldsOf, parseEffectRecord, recordFields, toRecordItem } from './record-items.ts';
import { ROW_IS_NEW, type TransactItem } from './transact-items.ts';

const openItem = z.lazy(() =>
  itemSchema<OpenConsumption>()({
    status: z.enum(['pending', 'failed']),
    ...recordFields(),
    attempt: z.int().min(1),
    claimedAtMs: z.int(),
    leaseExpiresAtMs: z.int(),
  }),
);

/**
 * The item has no time to live, because an open call must not be lost. It is not in the open-claims index, because no
 * job retries the call: the queue redelivers the event.
 */
export function openConsumptionItem(consumption: OpenConsumption): Item {
  return toRecordItem(consumption);
}

export function parseConsumption(item: Item): Consumption {
  if (item['status'] === 'COMPLETED') return { status: 'completed', record: parseEffectRecord(item) };
  return openItem.parse(fieldsOf(item));
}

/** Each change gives the record a new owner or status. */
export function unchangedCondition({
  owner,
  status,
}: OpenConsumption): Pick<
  NonNullable<TransactItem['Put']>,
  'ConditionExpression' | 'ExpressionAttributeNames' | 'ExpressionAttributeValues'
> {
  return {
    ConditionExpression: '#owner = :owner AND #status = :status',
    ExpressionAttributeNames: { '#owner': 'owner', '#status': 'status' },
    ExpressionAttributeValues: { ':owner': owner, ':status': status },
  };
}

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
