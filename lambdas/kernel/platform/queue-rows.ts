import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { QueryCommand, type QueryCommandInput } from '@aws-sdk/lib-dynamodb';
import { KeyAttribute } from '../contract/tables.ts';
import { BASE32_ALPHABET } from '../digest.ts';
import { isFault, TerminalError } from '../faults.ts';
import { turnOf } from '../looks.ts';
import { type Pacing, readWithRetries } from './attempts.ts';
import type { Item } from './items.ts';

/**
 * Queues are usually short, and long in an outage. An entry costs three write units in its life. A thousand entries a second
 * stay below half of a partition's capacity.
 */
export const QUEUE_SHARDS = 8;

const MINUTE_MS = 60_000;

/** Called for each row that this code cannot read. The row stays in its queue, and the others are read. */
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
  /** The prefix of the sort keys; base32 follows. */
  readonly prefixes: readonly string[];
  readonly parse: (item: Item) => Row;
}

/**
 * Reads a part of each shard, at most `limit` rows in total. Each minute begins at another place, and every other minute reads
 * backwards, so that a row that does not fit into one read is in a later one, even if other rows stay in the queue permanently.
 */
export async function readQueue<Row>(tools: QueueTools, queue: Queue<Row>, limit: number): Promise<readonly Row[]> {
  const share = Math.max(1, Math.floor(limit / QUEUE_SHARDS));
  const nowMs = tools.pacing.clock.nowMs();
  const from = startOf(queue.prefixes, turnOf(nowMs));
  // The shards take turns, too: a small limit does not reach all of them in one read.
  const first = Math.floor(nowMs / MINUTE_MS);
  const shards = Array.from({ length: QUEUE_SHARDS }, (_, each) => (first + each) % QUEUE_SHARDS);
  const [near, far] = first % 2 === 0 ? (['>=', '<'] as const) : (['<=', '>'] as const);
  const parts = await Promise.all(
    shards.map(async (shard) => {
      const next = await readPart(tools, queue.partition(shard), { from, is: near, limit: share });
      if (next.length >= share) return next;
      const rest = await readPart(tools, queue.partition(shard), { from, is: far, limit: share - next.length });
      return [...next, ...rest];
    }),
  );
  return readableRows(parts.flat().slice(0, limit), queue.parse, tools.unreadable);
}

/** Parses the rows that this code can read. */
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

/** @throws `cause` itself, if it is a fault of the store: that says nothing about the row */
export function unreadableRow(item: Item, cause: unknown): TerminalError {
  if (isFault(cause)) throw cause;
  const name = [item[KeyAttribute.partition], item[KeyAttribute.sort]].filter((part) => typeof part === 'string');
  return new TerminalError('row_unreadable', `the row ${name.join(' ')} cannot be read by this code`, { cause });
}

async function readPart(
  { client, table, pacing }: QueueTools,
  partition: string,
  { from, is, limit }: { readonly from: string; readonly is: '>=' | '<' | '<=' | '>'; readonly limit: number },
): Promise<readonly Item[]> {
  const input: QueryCommandInput = {
    TableName: table,
    KeyConditionExpression: `#pk = :pk AND #sk ${is} :from`,
    ExpressionAttributeNames: { '#pk': KeyAttribute.partition, '#sk': KeyAttribute.sort },
    ExpressionAttributeValues: { ':pk': partition, ':from': from },
    ConsistentRead: true,
    ScanIndexForward: is === '>=' || is === '<',
    Limit: limit,
  };
  const output = await readWithRetries(pacing, () => client.send(new QueryCommand(input)));
  return output.Items ?? [];
}

/** Enough letters that a start lies between any two rows at some time. */
const START_LETTERS = 10;

/** @param turn from 0 up to, not including, 1 */
function startOf(prefixes: readonly string[], turn: number): string {
  let rest = turn * prefixes.length;
  let start = prefixes[Math.floor(rest)] ?? '';
  for (let letter = 0; letter < START_LETTERS; letter += 1) {
    rest = (rest % 1) * BASE32_ALPHABET.length;
    start += BASE32_ALPHABET[Math.floor(rest)] ?? '';
  }
  return start;
}

/** One kind of queue by time. */
export interface DueRows<Row> {
  readonly partition: (shard: number) => string;
  readonly keyOf: (row: Row) => Item;
  readonly parse: (item: Item) => Row;
}
