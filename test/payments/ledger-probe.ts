import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  BatchWriteCommand,
  DeleteCommand,
  DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  ScanCommand,
  TransactWriteCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';

const client = DynamoDBDocumentClient.from(new DynamoDBClient({ maxAttempts: 1 }));
const KEY = { pk: 'PAY#probe', sk: 'T#000001' };

interface Probe {
  readonly action: string;
  readonly table: string;
}

/** Runs inside Lambda, under the function's role. Returns `done` or the name of the error. */
export async function handler({ action, table }: Probe): Promise<string> {
  try {
    await perform(action, table);
    return 'done';
  } catch (error) {
    return error instanceof Error ? error.name : 'unknown';
  }
}

async function perform(action: string, table: string): Promise<unknown> {
  const update = { TableName: table, Key: KEY, UpdateExpression: 'SET a = :a', ExpressionAttributeValues: { ':a': 1 } };
  switch (action) {
    case 'update':
      return client.send(new UpdateCommand(update));
    case 'delete':
      return client.send(new DeleteCommand({ TableName: table, Key: KEY }));
    case 'batch':
      return client.send(new BatchWriteCommand({ RequestItems: { [table]: [{ PutRequest: { Item: KEY } }] } }));
    case 'put':
      return client.send(new PutCommand({ TableName: table, Item: KEY }));
    case 'put-in-transaction':
      return client.send(new TransactWriteCommand({ TransactItems: [{ Put: { TableName: table, Item: KEY } }] }));
    case 'put-activity-in-transaction':
      return client.send(
        new TransactWriteCommand({
          TransactItems: [{ Put: { TableName: table, Item: { pk: 'ACT#deployment', sk: 'A#000000001' } } }],
        }),
      );
    case 'update-in-transaction':
      return client.send(new TransactWriteCommand({ TransactItems: [{ Update: update }] }));
    case 'delete-in-transaction':
      return client.send(new TransactWriteCommand({ TransactItems: [{ Delete: { TableName: table, Key: KEY } }] }));
    case 'read':
      return client.send(new GetCommand({ TableName: table, Key: KEY }));
    case 'read-activity':
      return client.send(new GetCommand({ TableName: table, Key: { pk: 'ACT#deployment', sk: 'A#000000001' } }));
    case 'put-own-record':
      return client.send(new PutCommand({ TableName: table, Item: { pk: 'OP#pay_probe' } }));
    case 'put-record-of-order':
      return client.send(new PutCommand({ TableName: table, Item: { pk: 'OP#ord_probe' } }));
    case 'read-record-of-callback':
      return client.send(new GetCommand({ TableName: table, Key: { pk: 'OP#cb_probe' } }));
    case 'scan':
      return client.send(new ScanCommand({ TableName: table }));
    case 'read-key':
      return client.send(new GetCommand({ TableName: table, Key: { pk: 'KEY#probe', sk: 'A' } }));
    case 'put-row':
      return client.send(new PutCommand({ TableName: table, Item: { pk: 'TENANT#probe', sk: 'A' } }));
    case 'put-row-in-transaction':
      return client.send(
        new TransactWriteCommand({
          TransactItems: [{ Put: { TableName: table, Item: { pk: 'TENANT#probe', sk: 'A' } } }],
        }),
      );
    default:
      throw new Error(`unknown action ${action}`);
  }
}
