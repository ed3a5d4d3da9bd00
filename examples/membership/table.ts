import {
  CreateTableCommand,
  type DynamoDBClient,
  ResourceInUseException,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';

const MAX_WAIT_SECONDS = 60;

export async function createTable(client: DynamoDBClient, name: string): Promise<void> {
  await client
    .send(
      new CreateTableCommand({
        TableName: name,
        BillingMode: 'PAY_PER_REQUEST',
        KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
        AttributeDefinitions: [
          { AttributeName: 'pk', AttributeType: 'S' },
          { AttributeName: 'state', AttributeType: 'S' },
          { AttributeName: 'dueAtMs', AttributeType: 'N' },
        ],
        GlobalSecondaryIndexes: [
          {
            IndexName: 'by-state',
            KeySchema: [
              { AttributeName: 'state', KeyType: 'HASH' },
              { AttributeName: 'dueAtMs', KeyType: 'RANGE' },
            ],
            Projection: { ProjectionType: 'ALL' },
          },
        ],
      }),
    )
    .catch((error: unknown) => {
      if (!(error instanceof ResourceInUseException)) throw error;
    });
  await waitUntilTableExists({ client, maxWaitTime: MAX_WAIT_SECONDS }, { TableName: name });
}
