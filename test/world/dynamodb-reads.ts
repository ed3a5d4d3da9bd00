import type { QueryCommandInput, ScanCommandInput } from '@aws-sdk/lib-dynamodb';
import {
  type Condition,
  compared,
  holds,
  nameOf,
  type Placeholders,
  parseCondition,
  parseProjection,
  valueOf,
} from './dynamodb-expressions.ts';
import {
  KILOBYTE,
  keyOf,
  keyValue,
  knownFieldsOnly,
  placeholdersOf,
  projected,
  ValidationError,
} from './dynamodb-requests.ts';
import { compareValues, type Item } from './dynamodb-values.ts';
import {
  byHash,
  hashed,
  type KeyPart,
  type KeyShape,
  type MemoryTable,
  type Placed,
  type Scalar,
  type SortedRows,
} from './memory-table.ts';

/** Maximum size of the data that one query or scan reads, in bytes. */
const MAX_PAGE_BYTES = KILOBYTE * KILOBYTE;
const READ_UNIT_BYTES = 4 * KILOBYTE;

type PageInput = QueryCommandInput & ScanCommandInput;

export function readPage(
  kind: 'query' | 'scan',
  table: MemoryTable,
  input: QueryCommandInput | ScanCommandInput,
  maxBytes = MAX_PAGE_BYTES,
): unknown {
  const asked = input as PageInput;
  knownFieldsOnly(kind === 'query' ? 'QueryCommand' : 'ScanCommand', input);
  const { IndexName: index, Limit: limit, FilterExpression, ProjectionExpression, KeyConditionExpression } = asked;
  const shape = shapeOf(table, index);
  if (index !== undefined && asked.ConsistentRead === true) {
    throw new ValidationError('Consistent reads are not supported on global secondary indexes');
  }
  if (limit !== undefined && !(limit >= 1)) throw new ValidationError('Limit must be at least 1');
  const filter = FilterExpression === undefined ? undefined : parseCondition(FilterExpression);
  const projection = ProjectionExpression === undefined ? undefined : parseProjection(ProjectionExpression);
  const range = KeyConditionExpression === undefined ? undefined : parseCondition(KeyConditionExpression);
  const placeholders = placeholdersOf(input, filter, projection, range);
  if ((kind === 'query') !== (range !== undefined))
    throw new ValidationError('a query requires a key condition, and a scan must not have one');
  const page = newPage(maxBytes, limit);
  if (range === undefined) scan(page, table, asked);
  else query(page, table, { shape, index, terms: terms(range.tree) }, placeholders, asked);
  const names = projection?.tree.map((name) => nameOf(name, placeholders)) ?? keysOnly(table, index);
  const items: (Item | undefined)[] = [];
  for (const { row } of page.rows) {
    if (filter === undefined || holds(filter.tree, row.item, placeholders)) items.push(projected(row.item, names));
  }
  const last = page.isLast ? undefined : page.rows.at(-1);
  const units = Math.max(1, Math.ceil(page.bytes / READ_UNIT_BYTES)) * (asked.ConsistentRead === true ? 1 : 0.5);
  return {
    $metadata: {},
    Items: items,
    Count: items.length,
    ScannedCount: page.rows.length,
    ...(last === undefined ? {} : { LastEvaluatedKey: projected(last.row.item, keyNames(table, index)) }),
    ...((input.ReturnConsumedCapacity ?? 'NONE') === 'NONE'
      ? {}
      : { ConsumedCapacity: { TableName: table.shape.name, CapacityUnits: units } }),
  };
}

function shapeOf({ shape }: MemoryTable, index: string | undefined): KeyShape {
  if (index === undefined) return shape;
  const found = shape.indexes?.[index];
  if (found === undefined) throw new ValidationError(`The table does not have the specified index: ${index}`);
  return found;
}

function keyNames({ shape }: MemoryTable, index: string | undefined): readonly string[] {
  const found = index === undefined ? undefined : shape.indexes?.[index];
  const parts = [shape.partition, shape.sort, found?.partition, found?.sort];
  return parts.flatMap((part) => (part === undefined ? [] : [part.name]));
}

function keysOnly(table: MemoryTable, index: string | undefined): readonly string[] | undefined {
  const isWhole = index === undefined || table.shape.indexes?.[index]?.projectsAll === true;
  return isWhole ? undefined : keyNames(table, index);
}

interface Page {
  readonly rows: Placed[];
  readonly limit: number;
  readonly maxBytes: number;
  bytes: number;
  isLast: boolean;
}

function newPage(maxBytes: number, limit = Number.POSITIVE_INFINITY): Page {
  return { rows: [], limit, maxBytes, bytes: 0, isLast: true };
}

/**
 * As in DynamoDB, a page that reached a limit has a last evaluated key even if no row follows.
 *
 * @returns false when the page is full
 */
function addTo(page: Page, placed: Placed): boolean {
  const { rows } = page;
  const isTooMuch = rows.length > 0 && page.bytes + placed.row.size > page.maxBytes;
  if (!isTooMuch) {
    rows.push(placed);
    page.bytes += placed.row.size;
  }
  page.isLast = !isTooMuch && rows.length < page.limit;
  return page.isLast;
}

// -------------------------------------------------------------------------------------------------------------------- query

function terms(condition: Condition): readonly Condition[] {
  return condition.kind === 'and' ? [...terms(condition.left), ...terms(condition.right)] : [condition];
}

interface Queried {
  readonly shape: KeyShape;
  readonly index: string | undefined;
  readonly terms: readonly Condition[];
}

function query(
  page: Page,
  table: MemoryTable,
  { shape, index, terms: all }: Queried,
  placeholders: Placeholders,
  { ScanIndexForward: isForward = true, ExclusiveStartKey: start }: PageInput,
): void {
  const ofPartition = all.filter((term) => attributeOf(term, placeholders) === shape.partition.name);
  const others = all.filter((term) => !ofPartition.includes(term));
  const [equal] = ofPartition;
  if (equal?.kind !== 'compare' || equal.is !== '=' || ofPartition.length > 1 || others.length > 1) {
    throw new ValidationError('Query condition missed key schema element, or has too many');
  }
  const partition = keyValue(shape.partition, valueOf(equal.right, undefined, placeholders), Number.POSITIVE_INFINITY);
  const rows = table.partition(partition, index);
  const [from, until] = boundsOf(shape.sort, others[0], rows, placeholders);
  if (rows === undefined) return;
  let [first, last] = [from, until - 1];
  if (start !== undefined) {
    const probe = startOf(table, index, start);
    const at = rows.at(probe);
    if (isForward) first = Math.max(from, at + Number(isSame(rows.rows[at], probe)));
    else last = Math.min(until, at) - 1;
  }
  for (let count = 0; count <= last - first; count += 1) {
    if (!addTo(page, rows.rows[isForward ? first + count : last - count] as Placed)) return;
  }
}

function isSame(placed: Placed | undefined, probe: Placed): boolean {
  return placed !== undefined && placed.row.partition === probe.row.partition && placed.row.sort === probe.row.sort;
}

/** Starts after the last key of the previous page, even if its row was deleted. */
function startOf(table: MemoryTable, index: string | undefined, start: Readonly<Record<string, unknown>>): Placed {
  const { shape } = table;
  const expected = keyNames(table, index);
  if (Object.keys(start).length !== expected.length || expected.some((name) => start[name] === undefined)) {
    throw new ValidationError('The provided starting key is invalid');
  }
  const row = table.rowOf(start as Item);
  const sort = index === undefined ? row.sort : (start[shape.indexes?.[index]?.sort.name ?? ''] as Scalar);
  return { sort, row };
}

function attributeOf(term: Condition, placeholders: Placeholders): string | undefined {
  if (term.kind === 'compare') {
    const isTerm = term.left.kind === 'name' && term.right.kind === 'value' && term.is !== '<>';
    return isTerm ? nameOf(term.left.text, placeholders) : undefined;
  }
  if (term.kind !== 'between' && term.kind !== 'begins_with') return undefined;
  return term.of.kind === 'name' ? nameOf(term.of.text, placeholders) : undefined;
}

/** The end is exclusive. */
function boundsOf(
  sort: KeyPart | undefined,
  term: Condition | undefined,
  rows: SortedRows | undefined,
  placeholders: Placeholders,
): readonly [number, number] {
  const end = rows?.rows.length ?? 0;
  if (term === undefined) return [0, end];
  if (sort === undefined || attributeOf(term, placeholders) !== sort.name) {
    throw new ValidationError('Query key condition not supported');
  }
  const value = (operand: Parameters<typeof valueOf>[0]) =>
    keyValue(sort, valueOf(operand, undefined, placeholders), Number.POSITIVE_INFINITY);
  const at = (key: Scalar, is: 'from' | 'after') => rows?.bound(key, is) ?? 0;
  if (term.kind === 'between') {
    const [from, to] = [value(term.from), value(term.to)];
    if (compared('>', from, to)) {
      throw new ValidationError('The BETWEEN operator requires upper bound to be greater than or equal to lower bound');
    }
    return [at(from, 'from'), at(to, 'after')];
  }
  if (term.kind === 'begins_with') {
    const prefix = String(value(term.prefix));
    const from = at(prefix, 'from');
    let behind = from;
    while (behind < end && String(rows?.rows[behind]?.sort).startsWith(prefix)) behind += 1;
    return [from, behind];
  }
  if (term.kind !== 'compare') throw new ValidationError('Query key condition not supported');
  const key = value(term.right);
  switch (term.is) {
    case '=':
      return [at(key, 'from'), at(key, 'after')];
    case '<':
      return [0, at(key, 'from')];
    case '<=':
      return [0, at(key, 'after')];
    case '>':
      return [at(key, 'after'), end];
    case '>=':
      return [at(key, 'from'), end];
    case '<>':
      throw new ValidationError('Query key condition not supported');
  }
}

// --------------------------------------------------------------------------------------------------------------------- scan

function scan(
  page: Page,
  table: MemoryTable,
  { Segment: segment = 0, TotalSegments: segments = 1, ExclusiveStartKey: start, IndexName: index }: PageInput,
): void {
  if (index !== undefined) throw new Error('The in-memory DynamoDB does not support index scans');
  if (!(segment >= 0 && segment < segments)) throw new ValidationError('Segment must be less than TotalSegments');
  const from = start === undefined ? undefined : keyOf(table.shape, start);
  const fromHashed = from && hashed(from.partition);
  for (const partition of table.scanOrder(segment, segments)) {
    const order = fromHashed === undefined ? 1 : byHash(partition, fromHashed);
    if (order < 0) continue;
    for (const placed of table.partition(partition.key)?.rows ?? []) {
      const isBehind = order > 0 || (compareValues(placed.sort, from?.sort ?? '') ?? 0) > 0;
      if (isBehind && !addTo(page, placed)) return;
    }
  }
}
