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
  type KeyPart,
  type KeyShape,
  type MemoryTable,
  type Placed,
  type Scalar,
  type SortedRows,
} from './memory-table.ts';

/** Bytes that one query or scan reads at most. */
const MAX_PAGE_BYTES = KILOBYTE * KILOBYTE;
const READ_UNIT_BYTES = 4 * KILOBYTE;

type PageInput = QueryCommandInput & ScanCommandInput;

/** One page of a query or a scan. */
export function readPage(
  kind: 'query' | 'scan',
  table: MemoryTable,
  input: QueryCommandInput | ScanCommandInput,
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
    throw new ValidationError('a query has a key condition, a scan none');
  const rows =
    range === undefined
      ? scanned(table, asked)
      : queried(table, { shape, index, terms: terms(range.tree) }, placeholders, asked);
  const page = cutPage(rows, limit);
  const found = page.rows.filter(({ row }) => filter === undefined || holds(filter.tree, row.item, placeholders));
  const names = projection?.tree.map((name) => nameOf(name, placeholders)) ?? keysOnly(table, index);
  const last = page.isLast ? undefined : page.rows.at(-1);
  const units = Math.max(1, Math.ceil(page.bytes / READ_UNIT_BYTES)) * (asked.ConsistentRead === true ? 1 : 0.5);
  return {
    $metadata: {},
    Items: found.map(({ row }) => projected(row.item, names)),
    Count: found.length,
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

/** DynamoDB names the last key whenever a limit ended the page, also when nothing follows. */
function cutPage(rows: Iterable<Placed>, limit = Number.POSITIVE_INFINITY) {
  const page: Placed[] = [];
  let bytes = 0;
  for (const placed of rows) {
    if (page.length > 0 && bytes + placed.row.size > MAX_PAGE_BYTES) return { rows: page, bytes, isLast: false };
    page.push(placed);
    bytes += placed.row.size;
    if (page.length >= limit) return { rows: page, bytes, isLast: false };
  }
  return { rows: page, bytes, isLast: true };
}

// -------------------------------------------------------------------------------------------------------------------- query

/** The terms of a key condition, which are joined by AND. */
function terms(condition: Condition): readonly Condition[] {
  return condition.kind === 'and' ? [...terms(condition.left), ...terms(condition.right)] : [condition];
}

interface Queried {
  readonly shape: KeyShape;
  readonly index: string | undefined;
  readonly terms: readonly Condition[];
}

function* queried(
  table: MemoryTable,
  { shape, index, terms: all }: Queried,
  placeholders: Placeholders,
  { ScanIndexForward: isForward = true, ExclusiveStartKey: start }: PageInput,
): Generator<Placed> {
  const ofPartition = all.filter((term) => attributeOf(term, placeholders) === shape.partition.name);
  const others = all.filter((term) => !ofPartition.includes(term));
  const [first] = ofPartition;
  if (first?.kind !== 'compare' || first.is !== '=' || ofPartition.length > 1 || others.length > 1) {
    throw new ValidationError('Query condition missed key schema element, or has too many');
  }
  const partition = keyValue(shape.partition, valueOf(first.right, undefined, placeholders), Number.POSITIVE_INFINITY);
  const rows = table.partition(partition, index);
  const [from, until] = boundsOf(shape.sort, others[0], rows, placeholders);
  if (rows === undefined) return;
  const after = start === undefined ? undefined : rows.at(startOf(table, index, start));
  const isAt = (at: number) => start !== undefined && isSame(rows.rows[at], startOf(table, index, start));
  if (isForward) {
    for (let at = Math.max(from, after === undefined ? from : after + Number(isAt(after))); at < until; at += 1) {
      yield rows.rows[at] as Placed;
    }
  } else {
    for (let at = Math.min(until, after ?? until) - 1; at >= from; at -= 1) yield rows.rows[at] as Placed;
  }
}

function isSame(placed: Placed | undefined, probe: Placed): boolean {
  return placed !== undefined && placed.row.partition === probe.row.partition && placed.row.sort === probe.row.sort;
}

/** Where a page begins: the place of the last key of the page before, whether its row is still there or not. */
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

/** From this place, up to and not including that one. */
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
    const behind = rows?.rows.findIndex((placed, place) => place >= from && !String(placed.sort).startsWith(prefix));
    return [from, behind === undefined || behind < 0 ? end : behind];
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

function* scanned(
  table: MemoryTable,
  { Segment: segment = 0, TotalSegments: segments = 1, ExclusiveStartKey: start, IndexName: index }: PageInput,
): Generator<Placed> {
  if (index !== undefined) throw new Error('DynamoDB in memory does not scan an index');
  if (!(segment >= 0 && segment < segments)) throw new ValidationError('Segment must be less than TotalSegments');
  const from = start === undefined ? undefined : keyOf(table.shape, start);
  for (const partition of table.scanOrder(segment, segments)) {
    const order = from === undefined ? 1 : byHash(partition, from.partition);
    if (order < 0) continue;
    for (const placed of table.partition(partition)?.rows ?? []) {
      if (order > 0 || (compareValues(placed.sort, from?.sort ?? '') ?? 0) > 0) yield placed;
    }
  }
}
