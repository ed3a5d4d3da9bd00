import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { QueryCommand } from '@aws-sdk/lib-dynamodb';
import { defined } from '../../kernel/defined.ts';
import { invariant } from '../../kernel/invariant.ts';
import { type Pacing, readWithRetries } from '../../kernel/platform/attempts.ts';
import type { Item } from '../../kernel/platform/items.ts';
import type { ViewRow } from '../domain/views.ts';
import type { ViewRange } from '../use/view-store.ts';

/** Table or index whose items are list rows with text keys. */
export interface RowSource {
  readonly client: DynamoDBDocumentClient;
  readonly pacing: Pacing;
  readonly table: string;
  /** @default the table */
  readonly index?: string;
  readonly partitionKey: string;
  readonly sortKey: string;
  readonly parse: (item: Item) => ViewRow;
}

/** A query returns at most 1 MB, so a page of a thousand rows of at most 4 KB takes four queries. */
const MAX_QUERIES = 16;

/** Implements `ViewStore.range`. */
export async function queryRange(source: RowSource, range: ViewRange): Promise<readonly ViewRow[]> {
  const { client, pacing, table, index, partitionKey, sortKey, parse } = source;
  const { partition, from, until, descending = false, limit, consistent = false } = range;
  // DynamoDB rejects a range whose end precedes its beginning.
  if (from >= until) return [];
  const rows: ViewRow[] = [];
  let next: Item | undefined;
  for (let query = 0; query < MAX_QUERIES; query += 1) {
    const input = {
      TableName: table,
      ...defined({ IndexName: index }),
      KeyConditionExpression: '#pk = :pk AND #sk BETWEEN :from AND :until',
      ExpressionAttributeNames: { '#pk': partitionKey, '#sk': sortKey },
      ExpressionAttributeValues: { ':pk': partition, ':from': from, ':until': until },
      ScanIndexForward: !descending,
      ConsistentRead: consistent,
      // Read one extra row, because BETWEEN includes the end of the range, which must be excluded.
      Limit: limit + 1 - rows.length,
      ...defined({ ExclusiveStartKey: next }),
    };
    const page = await readWithRetries(pacing, () => client.send(new QueryCommand(input)));
    rows.push(...(page.Items ?? []).map(parse).filter(({ sort }) => sort !== until));
    next = page.LastEvaluatedKey;
    if (rows.length >= limit || next === undefined) return rows.slice(0, limit);
  }
  invariant(false, `a page of ${limit} rows of ${partition} exceeds the maximum size`);
}
