import { CreateTableCommand, DescribeTableCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { LocalAws } from '../../local/local-aws.ts';

/** The new tables have the same schema, but no Stream and no time to live. */
export async function cloneTables(
  client: DynamoDBClient,
  tables: LocalAws['tables'],
  rename: (table: keyof LocalAws['tables']) => string,
): Promise<LocalAws['tables']> {
  const clone = (table: keyof LocalAws['tables']) => cloneTable(client, tables[table], rename(table));
  return {
    idempotency: await clone('idempotency'),
    ledger: await clone('ledger'),
    registry: await clone('registry'),
    views: await clone('views'),
  };
}

/** The new table has the schema of `source`, but no Stream and no time to live. */
export async function cloneTable(client: DynamoDBClient, source: string, name: string): Promise<string> {
  const { Table } = await client.send(new DescribeTableCommand({ TableName: source }));
  const indexes = Table?.GlobalSecondaryIndexes ?? [];
  await client.send(
    new CreateTableCommand({
      TableName: name,
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: Table?.KeySchema,
      AttributeDefinitions: Table?.AttributeDefinitions,
      ...(indexes.length === 0
        ? {}
        : {
            GlobalSecondaryIndexes: indexes.map(({ IndexName, KeySchema, Projection }) => ({
              IndexName,
              KeySchema,
              Projection,
            })),
          }),
    }),
  );
  return name;
}
