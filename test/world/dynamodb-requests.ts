import type { Parsed, Placeholders } from './dynamodb-expressions.ts';
import { type Item, storedValues, type Value } from './dynamodb-values.ts';
import {
  isScalar,
  type KeyPart,
  type KeyShape,
  NO_SORT,
  type Row,
  type Scalar,
  type TableShape,
} from './memory-table.ts';

export const KILOBYTE = 1024;
const READ_UNIT_BYTES = 4 * KILOBYTE;
/** Maximum length of a partition key, in bytes (Amazon DynamoDB developer guide, "Quotas"). */
const MAX_PARTITION_KEY = 2048;
const MAX_SORT_KEY = 1024;

/** Error for a request that DynamoDB rejects with `ValidationException`. */
export class ValidationError extends Error {
  override readonly name: string = 'ValidationError';
}

/** Error for a write of a row that production code could not read back. */
export class UnreadableRowError extends ValidationError {
  override readonly name = 'UnreadableRowError';
}

export interface Key {
  readonly partition: Scalar;
  readonly sort: Scalar;
}

const CONDITION = [
  'ConditionExpression',
  'ExpressionAttributeNames',
  'ExpressionAttributeValues',
  'ReturnValuesOnConditionCheckFailure',
];
const SINGLE = ['TableName', 'ReturnValues', 'ReturnConsumedCapacity', ...CONDITION];
const READ = [
  'TableName',
  'ConsistentRead',
  'ReturnConsumedCapacity',
  'ExpressionAttributeNames',
  'ProjectionExpression',
];
const PAGE = [...READ, 'IndexName', 'FilterExpression', 'ExpressionAttributeValues', 'ExclusiveStartKey', 'Limit'];

const FIELDS: Readonly<Record<string, ReadonlySet<string>>> = {
  GetCommand: new Set([...READ, 'Key']),
  BatchGetCommand: new Set(['RequestItems', 'ReturnConsumedCapacity']),
  'BatchGetCommand.RequestItems': new Set(['Keys', 'ConsistentRead']),
  BatchWriteCommand: new Set(['RequestItems']),
  'BatchWriteCommand.RequestItems': new Set(['PutRequest']),
  QueryCommand: new Set([...PAGE, 'KeyConditionExpression', 'ScanIndexForward']),
  ScanCommand: new Set([...PAGE, 'Segment', 'TotalSegments']),
  PutCommand: new Set([...SINGLE, 'Item']),
  UpdateCommand: new Set([...SINGLE, 'Key', 'UpdateExpression']),
  DeleteCommand: new Set([...SINGLE, 'Key']),
  TransactWriteCommand: new Set(['TransactItems', 'ClientRequestToken', 'ReturnConsumedCapacity']),
  'TransactWriteCommand.Put': new Set(['TableName', 'Item', ...CONDITION]),
  'TransactWriteCommand.Update': new Set(['TableName', 'Key', 'UpdateExpression', ...CONDITION]),
  'TransactWriteCommand.Delete': new Set(['TableName', 'Key', ...CONDITION]),
  'TransactWriteCommand.ConditionCheck': new Set(['TableName', 'Key', ...CONDITION]),
};

export function knownFieldsOnly(command: string, input: object): void {
  const known = FIELDS[command];
  for (const field in input) {
    if (known?.has(field) !== true) throw new Error(`The in-memory DynamoDB does not support ${field} of ${command}`);
  }
}

const NONE: Readonly<Record<string, never>> = Object.freeze({});

function mustBeUsed(placeholder: string, expressions: readonly (Parsed<unknown> | undefined)[]): void {
  for (const expression of expressions) if (expression?.uses.has(placeholder) === true) return;
  throw new ValidationError(`Value provided in expression attributes unused in expressions: ${placeholder}`);
}

/**
 * @throws ValidationError for a placeholder that no expression uses, or that an expression uses without a definition
 */
export function placeholdersOf(
  input: {
    readonly ExpressionAttributeNames?: Readonly<Record<string, string>> | undefined;
    readonly ExpressionAttributeValues?: Readonly<Record<string, unknown>> | undefined;
  },
  ...expressions: readonly (Parsed<unknown> | undefined)[]
): Placeholders {
  const { ExpressionAttributeNames: names = NONE, ExpressionAttributeValues: given } = input;
  const values = given === undefined ? NONE : storedValues(given);
  for (const each in names) mustBeUsed(each, expressions);
  for (const each in values) mustBeUsed(each, expressions);
  for (const expression of expressions) {
    if (expression === undefined) continue;
    for (const each of expression.uses) {
      if (names[each] === undefined && values[each] === undefined) {
        throw new ValidationError(`An expression attribute used in expression is not defined: ${each}`);
      }
    }
  }
  return { names, values };
}

/** @throws ValidationError unless the attributes are exactly the key attributes of the table */
export function keyOf(shape: KeyShape, key: Readonly<Record<string, unknown>> | undefined): Key {
  const { partition, sort } = shape;
  const attributes = Object.keys(key ?? {}).length;
  if (key === undefined || attributes !== (sort === undefined ? 1 : 2)) throw new ValidationError(WRONG_KEY);
  return {
    partition: keyValue(partition, key[partition.name], MAX_PARTITION_KEY),
    sort: sort === undefined ? NO_SORT : keyValue(sort, key[sort.name], MAX_SORT_KEY),
  };
}

const WRONG_KEY = 'The provided key element does not match the schema';

export function keyOfItem({ partition, sort }: KeyShape, item: Item): Key {
  return {
    partition: keyValue(partition, item[partition.name], MAX_PARTITION_KEY),
    sort: sort === undefined ? NO_SORT : keyValue(sort, item[sort.name], MAX_SORT_KEY),
  };
}

export function keyValue({ name, type }: KeyPart, value: unknown, maxBytes = MAX_SORT_KEY): Scalar {
  if (typeof value !== (type === 'S' ? 'string' : 'number')) throw new ValidationError(`${WRONG_KEY}: ${name}`);
  if (value === '') {
    throw new ValidationError(
      `The AttributeValue for a key attribute cannot contain an empty string value. Key: ${name}`,
    );
  }
  if (typeof value === 'string' && Buffer.byteLength(value) > maxBytes) {
    throw new ValidationError(`Size of key ${name} has exceeded the maximum size limit of ${maxBytes} bytes`);
  }
  return value as Scalar;
}

/** @param names undefined for all attributes */
export function projected(item: Item | undefined, names: readonly string[] | undefined): Item | undefined {
  if (item === undefined || names === undefined) return item;
  const part: Record<string, Value> = {};
  for (const name of names) {
    const value = item[name];
    if (value !== undefined) part[name] = value;
  }
  return part;
}

// ------------------------------------------------------------------------------------------------------------------ units

export function readUnits(bytes: number, isConsistent: boolean): number {
  return Math.max(1, Math.ceil(bytes / READ_UNIT_BYTES)) * (isConsistent ? 1 : 0.5);
}

/** @param times factor for all units: 2 in a transaction, otherwise 1 */
export function unitsOf(
  {
    table,
    before,
    after,
  }: {
    readonly table: { readonly shape: TableShape };
    readonly before: Row | undefined;
    readonly after: Row | undefined;
  },
  times: 1 | 2,
) {
  const bytes = Math.max(before?.size ?? 0, after?.size ?? 0);
  const indexUnits: Record<string, number> = {};
  for (const [name, shape] of Object.entries(table.shape.indexes ?? {})) {
    const from = entryOf(shape, before);
    const to = entryOf(shape, after);
    if (from === to && (from === undefined || shape.projectsAll === undefined)) continue;
    const entryUnits = shape.projectsAll === undefined ? 1 : Math.max(1, Math.ceil(bytes / KILOBYTE));
    const writes = from === to ? 1 : Number(from !== undefined) + Number(to !== undefined);
    indexUnits[name] = writes * entryUnits * times;
  }
  return { units: Math.max(1, Math.ceil(bytes / KILOBYTE)) * times, indexUnits };
}

function entryOf({ partition, sort }: Required<KeyShape>, row: Row | undefined): string | undefined {
  const values = [row?.item[partition.name], row?.item[sort.name]];
  return values.every(isScalar) ? JSON.stringify(values) : undefined;
}

export function checkIndexKeys({ indexes }: TableShape, item: Item): void {
  for (const { partition, sort } of Object.values(indexes ?? {})) {
    for (const part of [partition, sort]) {
      const value = item[part.name];
      if (value !== undefined) keyValue(part, value, part === partition ? MAX_PARTITION_KEY : MAX_SORT_KEY);
    }
  }
}
