import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { QueryCommand, type QueryCommandInput } from '@aws-sdk/lib-dynamodb';
import { KeyAttribute } from '../contract/tables.ts';
import { BASE32_ALPHABET } from '../digest.ts';
import { isFault, TerminalError } from '../faults.ts';
import { turnOf } from '../looks.ts';
import { type Pacing, readWithRetries } from './attempts.ts';
import type { Item } from './items.ts';

/**
 * Queues are short on a good day and wide on a bad one: an entry costs three write units in its life, and a thousand a second
 * stay below half of what a partition takes.
 */
export const QUEUE_SHARDS = 8;

/** Told of each row that this code cannot read; the others are read all the same, and the row stays where it is. */
export type Unreadable = (error: unknown) => void;

/** For a caller that reports no unreadable rows: the read fails instead of skipping one silently. */
export const failOnUnreadable: Unreadable = (error) => {
  throw error;
};

export interface QueueTools {
  readonly client: DynamoDBDocumentClient;
  readonly table: string;
  readonly pacing: Pacing;
  readonly unreadable: Unreadable;
}

export interface Queue<Row> {
  readonly partition: (shard: number) => string;
  /** How the sort keys begin; base32 follows. */
  readonly prefixes: readonly string[];
  readonly parse: (item: Item) => Row;
}

/**
 * A part of each shard, which begins elsewhere in every minute and goes round: what does not fit into one reading is in a
 * later one, whatever stays in the queue for ever.
 */
export async function readQueue<Row>(tools: QueueTools, queue: Queue<Row>, limit: number): Promise<readonly Row[]> {
  const share = Math.max(1, Math.floor(limit / QUEUE_SHARDS));
  const from = startOf(queue.prefixes, turnOf(tools.pacing.clock.nowMs()));
  const shards = Array.from({ length: QUEUE_SHARDS }, (_, shard) => shard);
  const parts = await Promise.all(
    shards.map(async (shard) => {
      const behind = await readPart(tools, queue.partition(shard), { from, is: '>=', limit: share });
      if (behind.length >= share) return behind;
      const before = await readPart(tools, queue.partition(shard), { from, is: '<', limit: share - behind.length });
      return [...behind, ...before];
    }),
  );
  return readableRows(parts.flat(), queue.parse, tools.unreadable);
}

/** Those that this code can read. */
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

/** @throws what the world did, which says nothing of the row */
export function unreadableRow(item: Item, cause: unknown): TerminalError {
  if (isFault(cause)) throw cause;
  const name = [item[KeyAttribute.partition], item[KeyAttribute.sort]].filter((part) => typeof part === 'string');
  return new TerminalError('row_unreadable', `the row ${name.join(' ')} cannot be read by this code`, { cause });
}

async function readPart(
  { client, table, pacing }: QueueTools,
  partition: string,
  { from, is, limit }: { readonly from: string; readonly is: '>=' | '<'; readonly limit: number },
): Promise<readonly Item[]> {
  const input: QueryCommandInput = {
    TableName: table,
    KeyConditionExpression: `#pk = :pk AND #sk ${is} :from`,
    ExpressionAttributeNames: { '#pk': KeyAttribute.partition, '#sk': KeyAttribute.sort },
    ExpressionAttributeValues: { ':pk': partition, ':from': from },
    ConsistentRead: true,
    Limit: limit,
  };
  const output = await readWithRetries(pacing, () => client.send(new QueryCommand(input)));
  return output.Items ?? [];
}

/** @param turn from 0 up to, not including, 1 */
function startOf(prefixes: readonly string[], turn: number): string {
  const letters = BASE32_ALPHABET.length;
  const place = Math.floor(turn * prefixes.length * letters * letters);
  const prefix = prefixes[Math.floor(place / (letters * letters))] ?? '';
  const first = BASE32_ALPHABET[Math.floor(place / letters) % letters] ?? '';
  return `${prefix}${first}${BASE32_ALPHABET[place % letters] ?? ''}`;
}

/** One kind of queue by time. */
export interface DueRows<Row> {
  readonly partition: (shard: number) => string;
  readonly keyOf: (row: Row) => Item;
  readonly parse: (item: Item) => Row;
}
