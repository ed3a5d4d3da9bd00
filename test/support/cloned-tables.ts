import { CreateTableCommand, DescribeTableCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { LocalAws } from '../../local/local-aws.ts';

/**
 * Creates an empty table for each of these tables, with the same schema, but without a Stream and time to live.
 * `rename` returns the name of the new table.
 */
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

/** Creates an empty table with the schema of `source`, but without a Stream and time to live. @returns its name */
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
