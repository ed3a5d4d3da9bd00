import type { BatchWriteCommandInput, DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import {
  BatchGetCommand,
  BatchWriteCommand,
  DeleteCommand,
  GetCommand,
  PutCommand,
  ScanCommand,
} from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { KeyAttribute, ViewsTable } from '../../kernel/contract/tables.ts';
import { defined } from '../../kernel/defined.ts';
import { RetryableError } from '../../kernel/faults.ts';
import { type Pacing, readWithRetries, writeConditionally } from '../../kernel/platform/attempts.ts';
import type { Item } from '../../kernel/platform/items.ts';
import { type TransactItem, transactOnce } from '../../once/store/transact-items.ts';
import type { ChainId } from '../../payments/ids.ts';
import type { ViewKey } from '../domain/lists.ts';
import type { ViewRow } from '../domain/views.ts';
import { mergedRows } from '../use/merged-rows.ts';
import type { RowChange, ScanPage, ScanRequest, ViewRange, ViewScan, ViewStore } from '../use/view-store.ts';
import { listPartition, maxParts, partsOf, storedPartition } from './list-parts.ts';
import { queryRange } from './query-range.ts';

type Requests = NonNullable<BatchWriteCommandInput['RequestItems']>[string];

/** Maximum number of rows in a `BatchWriteItem` call (Amazon DynamoDB API reference). */
const MAX_BATCH_WRITES = 25;

const { partition: PK, sort: SK } = KeyAttribute;
const { name: INDEX, partitionKey: LIST } = ViewsTable.listsIndex;

/** Number of rows per step of a scan, a few hundred kilobytes in total. */
const SCAN_PAGE = 200;

const rowItem = z.object({
  [PK]: z.string(),
  [SK]: z.string(),
  [LIST]: z.string().exactOptional(),
  chain: z.string().exactOptional(),
  sequence: z.int().min(0),
  body: z.string(),
});

/**
 * `domain/lists.ts` defines the rows' keys. At high peak rates, the partitions of lists are divided into parts, which
 * callers do not see.
 */
export class DynamoDbViews implements ViewStore, ViewScan {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;
  readonly #pacing: Pacing;

  constructor(client: DynamoDBDocumentClient, viewsTable: string, pacing: Pacing) {
    this.#client = client;
    this.#table = viewsTable;
    this.#pacing = pacing;
  }

  async put(rows: readonly ViewRow[]): Promise<void> {
    for (let from = 0; from < rows.length; from += MAX_BATCH_WRITES)
      await this.#putBatch(rows.slice(from, from + MAX_BATCH_WRITES));
  }

  async #putBatch(rows: readonly ViewRow[]): Promise<void> {
    const [only, ...others] = rows;
    if (only !== undefined && others.length === 0) {
      const put = new PutCommand({ TableName: this.#table, Item: itemOf(only) });
      await writeConditionally(this.#pacing, () => this.#client.send(put));
      return;
    }
    let left: Requests = rows.map((row) => ({ PutRequest: { Item: itemOf(row) } }));
    await writeConditionally(this.#pacing, async () => {
      const write = new BatchWriteCommand({ RequestItems: { [this.#table]: left } });
      const { UnprocessedItems } = await this.#client.send(write);
      left = UnprocessedItems?.[this.#table] ?? [];
      requireWholeBatch(left);
    });
  }

  async read(key: ViewKey): Promise<ViewRow | undefined> {
    const input = { TableName: this.#table, Key: keyOf(key), ConsistentRead: true };
    const { Item } = await readWithRetries(this.#pacing, () => this.#client.send(new GetCommand(input)));
    return Item === undefined ? undefined : parseViewRow(Item);
  }

  async readAll(keys: readonly ViewKey[]): Promise<readonly (ViewRow | undefined)[]> {
    const found = new Map<string, Item>();
    let left = keys.map(keyOf);
    await readWithRetries(this.#pacing, async () => {
      const read = new BatchGetCommand({ RequestItems: { [this.#table]: { Keys: left, ConsistentRead: true } } });
      const { Responses, UnprocessedKeys } = await this.#client.send(read);
      for (const item of Responses?.[this.#table] ?? []) found.set(nameOf(item), item);
      left = UnprocessedKeys?.[this.#table]?.Keys ?? [];
      requireWholeBatch(left);
    });
    return keys.map((key) => {
      const item = found.get(nameOf(keyOf(key)));
      return item === undefined ? undefined : parseViewRow(item);
    });
  }

  async exchange(changes: readonly RowChange[]): Promise<boolean> {
    const [only, ...others] = changes;
    if (only === undefined) return true;
    const result =
      others.length > 0
        ? await transactOnce(
            this.#client,
            this.#pacing,
            changes.map((change) => this.#transactItem(change)),
          )
        : await writeConditionally(this.#pacing, () => this.#change(only));
    return result.kind === 'applied';
  }

  #change({ key, from, to }: RowChange): Promise<unknown> {
    const base = { TableName: this.#table, ...conditionOf(from) };
    return to === undefined
      ? this.#client.send(new DeleteCommand({ ...base, Key: keyOf(key) }))
      : this.#client.send(new PutCommand({ ...base, Item: itemOf(to) }));
  }

  #transactItem({ key, from, to }: RowChange): TransactItem {
    const base = { TableName: this.#table, ...conditionOf(from) };
    return to === undefined ? { Delete: { ...base, Key: keyOf(key) } } : { Put: { ...base, Item: itemOf(to) } };
  }

  async range(range: ViewRange): Promise<readonly ViewRow[]> {
    const source = {
      client: this.#client,
      pacing: this.#pacing,
      table: this.#table,
      ...(range.indexed === undefined ? { partitionKey: PK } : { index: INDEX, partitionKey: LIST }),
      sortKey: SK,
      parse: parseViewRow,
    };
    const [only = range.partition, ...others] = partsOf(range.partition, range.until);
    if (others.length === 0) return queryRange(source, { ...range, partition: only });
    const merged = { ...range, partitions: [only, ...others] };
    return mergedRows({ range: (part) => queryRange(source, part) }, merged);
  }

  queriesPerRange(): number {
    return maxParts();
  }

  async scan({ segment, segments, after }: ScanRequest): Promise<ScanPage<ViewRow>> {
    const input = {
      TableName: this.#table,
      Segment: segment,
      TotalSegments: segments,
      Limit: SCAN_PAGE,
      ConsistentRead: true,
      ...(after === undefined ? {} : { ExclusiveStartKey: JSON.parse(after) as Item }),
    };
    const page = await readWithRetries(this.#pacing, () => this.#client.send(new ScanCommand(input)));
    const { LastEvaluatedKey } = page;
    const found = (page.Items ?? []).map(parseViewRow);
    return LastEvaluatedKey === undefined ? { found } : { found, next: JSON.stringify(LastEvaluatedKey) };
  }
}

/** @throws RetryableError if DynamoDB processed only a part of a batch, so that the rest is retried */
function requireWholeBatch(left: readonly unknown[]): void {
  if (left.length > 0) throw new RetryableError('store_throttled', 'DynamoDB processed only a part of the batch');
}

function nameOf(item: Item): string {
  return JSON.stringify([item[PK], item[SK]]);
}

function conditionOf(from: ViewRow | null | undefined) {
  if (from === undefined) return {};
  if (from === null) {
    return { ConditionExpression: 'attribute_not_exists(#pk)', ExpressionAttributeNames: { '#pk': PK } };
  }
  return {
    ConditionExpression: '#sequence = :sequence AND #body = :body',
    ExpressionAttributeNames: { '#sequence': 'sequence', '#body': 'body' },
    ExpressionAttributeValues: { ':sequence': from.sequence, ':body': from.body },
  };
}

function keyOf({ partition, sort }: ViewKey): Item {
  return { [PK]: storedPartition({ partition, sort }), [SK]: sort };
}

function itemOf(row: ViewRow): Item {
  const { list, chainId, sequence, body } = row;
  return {
    ...keyOf(row),
    ...(list === undefined ? {} : { [LIST]: storedPartition({ partition: list, sort: row.sort }) }),
    ...defined({ chain: chainId }),
    sequence,
    body,
  };
}

export function parseViewRow(item: Item): ViewRow {
  const { pk, sk, list, chain, sequence, body } = rowItem.parse(item);
  return {
    partition: listPartition(pk, sk),
    sort: sk,
    ...(list === undefined ? {} : { list: listPartition(list, sk) }),
    ...(chain === undefined ? {} : { chainId: chain as ChainId }),
    sequence,
    body,
  };
}
