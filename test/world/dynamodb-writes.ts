import type {
  DeleteCommandInput,
  PutCommandInput,
  TransactWriteCommandInput,
  UpdateCommandInput,
} from '@aws-sdk/lib-dynamodb';
import {
  type Action,
  ExpressionError,
  holds,
  nameOf,
  type Parsed,
  type Placeholders,
  parseCondition,
  parseUpdate,
  updated,
} from './dynamodb-expressions.ts';
import {
  checkIndexKeys,
  type Key,
  KILOBYTE,
  keyOf,
  keyOfItem,
  placeholdersOf,
  UnreadableRowError,
  ValidationError,
} from './dynamodb-requests.ts';
import { type Item, storedItem } from './dynamodb-values.ts';
import type { MemoryTable, Row, TableShape } from './memory-table.ts';

const MAX_ITEM_BYTES = 400 * KILOBYTE;

export type WriteKind = 'Put' | 'Update' | 'Delete' | 'ConditionCheck';
type TransactItem = NonNullable<TransactWriteCommandInput['TransactItems']>[number];
type Single = PutCommandInput | UpdateCommandInput | DeleteCommandInput;
export type WriteInput = (Single | NonNullable<TransactItem[WriteKind]>) & {
  readonly ReturnValues?: string | undefined;
  readonly ReturnConsumedCapacity?: string | undefined;
};

/** Effect that one write will have on the current rows when it is applied. */
export interface Planned {
  readonly table: MemoryTable;
  readonly kind: WriteKind;
  readonly key: Key;
  readonly before: Row | undefined;
  /** Row after the write. Undefined for a delete, after a failed condition, or if there is a `fault`. */
  readonly after: Row | undefined;
  readonly isRefused: boolean;
  /** Set if the update cannot be applied to this item. */
  readonly fault?: string;
  readonly wantsOld: boolean;
  readonly touched: readonly string[];
}

/**
 * @throws ValidationError for input that DynamoDB never accepts, ExpressionError for an expression that cannot be
 * parsed or applied, UnreadableRowError for a row that the row reader refuses
 */
export function planWrite(
  kind: WriteKind,
  table: MemoryTable,
  input: WriteInput,
  { faultIsReason = false }: { readonly faultIsReason?: boolean } = {},
): Planned {
  const { shape } = table;
  const text = input.ConditionExpression;
  const condition = text === undefined ? undefined : parseCondition(text);
  const change = 'UpdateExpression' in input ? parsedUpdate(input.UpdateExpression) : undefined;
  const placeholders = placeholdersOf(input, condition, change);
  const item = kind === 'Put' && 'Item' in input ? storedItem(input.Item ?? {}) : undefined;
  const key = item === undefined ? keyOf(shape, 'Key' in input ? input.Key : undefined) : keyOfItem(shape, item);
  const before = table.get(key.partition, key.sort);
  const planned = { table, kind, key, before, wantsOld: input.ReturnValuesOnConditionCheckFailure === 'ALL_OLD' };
  if (kind === 'ConditionCheck' && condition === undefined)
    throw new ValidationError('a condition check requires a condition');
  if (condition !== undefined && !holds(condition.tree, before?.item, placeholders)) {
    return { ...planned, after: undefined, isRefused: true, touched: [] };
  }
  if (kind === 'ConditionCheck') return { ...planned, after: before, isRefused: false, touched: [] };
  if (kind !== 'Update') {
    const after = item === undefined ? undefined : checkedRow(table, item);
    return { ...planned, after, isRefused: false, touched: [] };
  }
  try {
    return {
      ...planned,
      ...afterUpdate(table, before?.item ?? keyItem(shape, key), change, placeholders),
      isRefused: false,
    };
  } catch (error) {
    if (!faultIsReason || !(error instanceof ExpressionError)) throw error;
    return { ...planned, after: undefined, isRefused: false, fault: error.message, touched: [] };
  }
}

function parsedUpdate(text: string | undefined): Parsed<readonly Action[]> | undefined {
  return text === undefined ? undefined : parseUpdate(text);
}

function afterUpdate(
  table: MemoryTable,
  item: Item,
  change: Parsed<readonly Action[]> | undefined,
  placeholders: Placeholders,
): { readonly after: Row; readonly touched: readonly string[] } {
  if (change === undefined) return { after: checkedRow(table, item), touched: [] };
  const { partition, sort } = table.shape;
  for (const { name } of change.tree) {
    const attribute = nameOf(name, placeholders);
    if (attribute === partition.name || attribute === sort?.name) {
      throw new ValidationError(`Cannot update attribute ${attribute}. This attribute is part of the key`);
    }
  }
  const result = updated(change.tree, item, placeholders);
  // Values are already copies, both in the item and in the placeholders of the request.
  return { after: checkedRow(table, Object.freeze(result.item)), touched: result.touched };
}

function keyItem({ partition, sort }: TableShape, key: Key): Item {
  return { [partition.name]: key.partition, ...(sort === undefined ? {} : { [sort.name]: key.sort }) };
}

function checkedRow(table: MemoryTable, item: Item): Row {
  const { shape } = table;
  checkIndexKeys(shape, item);
  const row = table.rowOf(item);
  if (row.size > MAX_ITEM_BYTES) throw new ValidationError('Item size has exceeded the maximum allowed size');
  const partition = String(row.partition);
  const read = shape.readers[partition.slice(0, partition.indexOf('#') + 1) || partition];
  if (read === undefined)
    throw new UnreadableRowError(`no reader of ${shape.name} accepts the row ${partition} ${row.sort}`);
  try {
    read(item);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new UnreadableRowError(`the row ${partition} ${row.sort} of ${shape.name} cannot be read: ${why}`, { cause });
  }
  return row;
}
