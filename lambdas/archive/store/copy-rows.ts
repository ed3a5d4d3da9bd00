import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { type DynamoDBDocumentClient, PutCommand } from '@aws-sdk/lib-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { type Pacing, readWithRetries } from '../../kernel/platform/attempts.ts';
import type { Item } from '../../kernel/platform/items.ts';
import { ROW_IS_NEW } from '../../once/store/transact-items.ts';
import type { ChainRow } from '../domain/chain-row.ts';
import { NO_BOUNDS } from '../domain/judge-chain.ts';
import { valueText } from '../domain/row-text.ts';
import type { StoredObjects } from '../use/stored-objects.ts';
import { archivedPages } from './archived-lines.ts';

const AT_ONCE = 32;

export interface CopiedRows {
  readonly written: number;
  /** Number of rows that already existed: duplicates in the archive, or rows from an earlier, interrupted run. */
  readonly there: number;
  /** Keys of rows that the table already contains with different content. */
  readonly different: readonly string[];
  /** Objects or lines that cannot be read, with the reasons. */
  readonly unreadable: readonly string[];
  /** Time of the newest row, in Unix milliseconds; 0 when there are no rows. */
  readonly newestMs: number;
}

/**
 * Existing rows are not changed, so the copy can be repeated.
 *
 * @param table an unused table with the Ledger's key schema
 */
export async function copyRows(
  {
    client,
    table,
    pacing,
  }: { readonly client: DynamoDBDocumentClient; readonly table: string; readonly pacing: Pacing },
  objects: StoredObjects,
  report: (copied: CopiedRows) => void,
): Promise<CopiedRows> {
  let copied: CopiedRows = { written: 0, there: 0, different: [], unreadable: [], newestMs: 0 };
  for await (const { kept: rows, unreadable } of archivedPages(objects, NO_BOUNDS, (row) => [row])) {
    const ended: Awaited<ReturnType<typeof put>>[] = [];
    for (let begin = 0; begin < rows.length; begin += AT_ONCE) {
      const some = rows.slice(begin, begin + AT_ONCE);
      ended.push(...(await Promise.all(some.map(({ item }) => put(client, table, pacing, item)))));
    }
    const different = rows.filter((_row, index) => ended[index] === 'different');
    copied = {
      written: copied.written + ended.filter((each) => each === 'written').length,
      there: copied.there + ended.filter((each) => each === 'there').length,
      different: [...copied.different, ...different.map(({ line }) => `${line.chain} ${line.sort}`)],
      unreadable: [...copied.unreadable, ...unreadable.map((each) => `${each.object} ${each.line}: ${each.because}`)],
      newestMs: rows.reduce((newest, { line }) => Math.max(newest, timeOf(line)), copied.newestMs),
    };
    report(copied);
  }
  return copied;
}

function timeOf({ content }: ChainRow): number {
  return content.kind === 'link' ? content.occurredAtMs : 0;
}

async function put(
  client: DynamoDBDocumentClient,
  TableName: string,
  pacing: Pacing,
  item: Item,
): Promise<'written' | 'there' | 'different'> {
  const Put = {
    TableName,
    Item: item,
    ConditionExpression: ROW_IS_NEW,
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
  };
  // The write never overwrites a row, so retrying it after any failure is safe.
  return readWithRetries(pacing, async () => {
    try {
      await client.send(new PutCommand(Put));
      return 'written';
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
      return valueText(unmarshall(error.Item ?? {})) === valueText(item) ? 'there' : 'different';
    }
  });
}
