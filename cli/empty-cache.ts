import { DeleteCommand, type DynamoDBDocumentClient, paginateScan } from '@aws-sdk/lib-dynamodb';
import { IdempotencyTable } from '../lambdas/kernel/contract/tables.ts';
import { openTables, stackOutputs } from './deployment.ts';
import type { Session } from './session.ts';

const AT_ONCE = 25;

/** Afterwards, replays read PostgreSQL. @throws CliFailure when the deployment has no such table */
export async function emptyReplayCache(session: Session): Promise<void> {
  const target = await session.aws();
  const [table] = await stackOutputs(
    target,
    'service',
    ['replayCacheTable'],
    'only a deployment with PostgreSQL has a cache.',
  );
  const { client } = await openTables(target);
  const deleted = await deleteEntries(client, table);
  session.show({ deleted }, [`Entries deleted: ${deleted}.`]);
}

/** Entries that functions write concurrently may remain. */
export async function deleteEntries(client: DynamoDBDocumentClient, table: string): Promise<number> {
  const key = IdempotencyTable.partitionKey;
  const projection = { ProjectionExpression: key, ConsistentRead: true };
  let deleted = 0;
  for await (const { Items = [] } of paginateScan({ client, pageSize: AT_ONCE }, { TableName: table, ...projection })) {
    await Promise.all(
      Items.map((entry) => client.send(new DeleteCommand({ TableName: table, Key: { [key]: String(entry[key]) } }))),
    );
    deleted += Items.length;
  }
  return deleted;
}
