import { type DynamoDBDocumentClient, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { KeyAttribute } from '../contract/tables.ts';
import { type Pacing, readWithRetries } from './attempts.ts';
import type { Item } from './items.ts';

/** A sort key that sorts before every key that Payonce writes. */
const BEFORE_ALL = ' ';

/**
 * One query returns at most a megabyte, so `limit` rows together must be smaller.
 *
 * @param after the sort key of the last row of the previous page
 * @throws RetryableError when the store is unavailable
 */
export async function rowsAfter(
  client: DynamoDBDocumentClient,
  { table, partition, pacing }: { readonly table: string; readonly partition: string; readonly pacing: Pacing },
  { after = BEFORE_ALL, limit }: { readonly after?: string | undefined; readonly limit: number },
): Promise<readonly Item[]> {
  const { Items = [] } = await readWithRetries(pacing, () =>
    client.send(
      new QueryCommand({
        TableName: table,
        KeyConditionExpression: '#pk = :pk AND #sk > :after',
        ExpressionAttributeNames: { '#pk': KeyAttribute.partition, '#sk': KeyAttribute.sort },
        ExpressionAttributeValues: { ':pk': partition, ':after': after },
        ConsistentRead: true,
        Limit: limit,
      }),
    ),
  );
  return Items;
}
