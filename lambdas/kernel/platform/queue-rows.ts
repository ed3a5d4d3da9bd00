import type { DynamoDBDocumentClient, UpdateCommandInput } from '@aws-sdk/lib-dynamodb';
import { QueryCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import type { QueueRow } from '../contract/rows.ts';
import { KeyAttribute, RegistryTable } from '../contract/tables.ts';
import { isFault, TerminalError } from '../faults.ts';
import type { Due } from '../looks.ts';
import { type Pacing, readWithRetries, writeConditionally } from './attempts.ts';
import { type Item, shardOf } from './items.ts';
import { eachShard, mostShards, OPERATOR_SHARD, shardsAt } from './shards.ts';

/** Interval at which the same unreadable row is reported again, in milliseconds. The row does not block other rows. */
export const UNREADABLE_AGAIN_MS = 5 * 60_000;

/**
 * As a multiple of the read's limit, over all partitions. Bounds the memory that is needed to read a long backlog from
 * many partitions.
 */
const MAX_LIMITS = 32;

/** The row stays in its queue, and the other rows are processed. */
export type Unreadable = (error: unknown) => void;

/** Fails the read instead of silently skipping a row. For callers that do not report unreadable rows. */
export const failOnUnreadable: Unreadable = (error) => {
  throw error;
};

export interface QueueTools {
  readonly client: DynamoDBDocumentClient;
  readonly table: string;
  readonly pacing: Pacing;
  readonly unreadable: Unreadable;
}

type QueueName = (typeof QueueRow)[keyof typeof QueueRow];

export interface Queue<Row> {
  readonly of: readonly QueueName[];
  readonly parse: (item: Item) => Row;
}

export function queuedForOperator(queue: QueueName, dueAtMs: number): Item {
  const { partitionKey, sortKey } = RegistryTable.queuesIndex;
  return { [partitionKey]: `${queue}${OPERATOR_SHARD}`, [sortKey]: dueAtMs };
}

/** @param id selects the shard */
export function queuedFor(queue: QueueName, id: string, dueAtMs: number): Item {
  const { partitionKey, sortKey } = RegistryTable.queuesIndex;
  return { [partitionKey]: `${queue}${shardOf(id, shardsAt(dueAtMs).queues)}`, [sortKey]: dueAtMs };
}

interface DueIndex {
  readonly name: string;
  readonly partitionKey: string;
  readonly sortKey: string;
}

interface DuePartitions<Row> {
  readonly index: DueIndex;
  readonly partitions: readonly (string | number)[];
  readonly parse: (item: Item) => Row;
  readonly keyOf: (item: Item) => Item;
}

export async function readDue<Row>(tools: QueueTools, { of, parse }: Queue<Row>, due: Due): Promise<readonly Row[]> {
  const shards = eachShard(mostShards().queues);
  const partitions = of.flatMap((name) => shards.map((shard) => `${name}${shard}`));
  const { partition, sort } = KeyAttribute;
  const keyOf = (item: Item): Item => ({ [partition]: item[partition], [sort]: item[sort] });
  return readPartitions(tools, { index: RegistryTable.queuesIndex, partitions, parse, keyOf }, due);
}

/**
 * Reads due entries, longest overdue first. Although each read is limited, no entry waits forever, because each
 * processed entry gets a later due time or leaves the queue. The index is eventually consistent. A new row that it does
 * not contain yet is found by the next read. Processing an outdated row has no effect, because every write requires
 * that the row has not changed.
 */
export async function readPartitions<Row>(
  tools: QueueTools,
  parts: DuePartitions<Row>,
  due: Due,
): Promise<readonly Row[]> {
  const { index, partitions, parse } = parts;
  const share = Math.min(due.limit, Math.ceil((MAX_LIMITS * due.limit) / partitions.length));
  const part = { ...due, limit: share };
  const found = await Promise.all(partitions.map((partition) => readPart(tools, index, partition, part)));
  const items = found.flat().sort((left, right) => Number(left[index.sortKey]) - Number(right[index.sortKey]));
  const rows: Row[] = [];
  for (const item of items.slice(0, due.limit)) {
    const readable = readableRows([item], parse, tools.unreadable);
    rows.push(...readable);
    if (readable.length === 0) await postponeUnreadable(tools, parts, item).catch(tools.unreadable);
  }
  return rows;
}

async function readPart(
  { client, table, pacing }: QueueTools,
  { name, partitionKey, sortKey }: DueIndex,
  partition: string | number,
  { untilMs, limit }: Due,
): Promise<readonly Item[]> {
  const output = await readWithRetries(pacing, () =>
    client.send(
      new QueryCommand({
        TableName: table,
        IndexName: name,
        KeyConditionExpression: '#part = :part AND #due <= :until',
        ExpressionAttributeNames: { '#part': partitionKey, '#due': sortKey },
        ExpressionAttributeValues: { ':part': partition, ':until': untilMs },
        Limit: limit,
      }),
    ),
  );
  return output.Items ?? [];
}

async function postponeUnreadable(
  tools: QueueTools,
  { index: { sortKey }, keyOf }: Pick<DuePartitions<unknown>, 'index' | 'keyOf'>,
  item: Item,
): Promise<void> {
  await setAttributes(
    tools,
    keyOf(item),
    { [sortKey]: tools.pacing.clock.nowMs() + UNREADABLE_AGAIN_MS },
    {
      ConditionExpression: '#was = :was',
      ExpressionAttributeNames: { '#was': sortKey },
      ExpressionAttributeValues: { ':was': item[sortKey] },
    },
  );
}

export type Condition = Pick<
  UpdateCommandInput,
  'ConditionExpression' | 'ExpressionAttributeNames' | 'ExpressionAttributeValues'
>;

export async function setAttributes(
  { client, table, pacing }: Omit<QueueTools, 'unreadable'>,
  key: Item,
  attributes: Item,
  { ConditionExpression, ExpressionAttributeNames, ExpressionAttributeValues }: Condition,
): Promise<void> {
  const named = Object.entries(attributes);
  const update = new UpdateCommand({
    TableName: table,
    Key: key,
    UpdateExpression: `SET ${named.map((_, each) => `#set${each} = :set${each}`).join(', ')}`,
    ConditionExpression,
    ExpressionAttributeNames: {
      ...ExpressionAttributeNames,
      ...Object.fromEntries(named.map(([name], each) => [`#set${each}`, name])),
    },
    ExpressionAttributeValues: {
      ...ExpressionAttributeValues,
      ...Object.fromEntries(named.map(([, value], each) => [`:set${each}`, value])),
    },
  });
  await writeConditionally(pacing, () => client.send(update));
}

export function readableRows<Row>(
  items: readonly Item[],
  parse: (item: Item) => Row,
  unreadable: Unreadable,
): readonly Row[] {
  return items.flatMap((item) => {
    try {
      return [parse(item)];
    } catch (cause) {
      unreadable(unreadableRow(item, cause));
      return [];
    }
  });
}

/**
 * @throws `cause` itself if it is a fault of the store, because such a fault does not mean that the row is unreadable
 */
export function unreadableRow(item: Item, cause: unknown): TerminalError {
  if (isFault(cause)) throw cause;
  const name = [item[KeyAttribute.partition], item[KeyAttribute.sort]].filter((part) => typeof part === 'string');
  return new TerminalError('row_unreadable', `this code cannot parse the row ${name.join(' ')}`, { cause });
}

export interface DueRows<Row> {
  readonly partition: (shard: number) => string;
  readonly shards: () => number;
  readonly keyOf: (row: Row) => Item;
  /** Returns the attributes that list the row in an index. @default none */
  readonly indexed?: (row: Row) => Item;
  readonly parse: (item: Item) => Row;
}
