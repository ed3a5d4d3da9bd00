import { randomUUID } from 'node:crypto';
import { PutCommand, QueryCommand, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { createTable } from '../../examples/membership/table.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { dynamoDbClient } from '../support/local-aws.ts';

export async function ownTable(): Promise<string> {
  const name = `membership-${randomUUID()}`;
  await createTable(dynamoDbClient(), name);
  return name;
}

export async function addLocks(table: string, count: number): Promise<void> {
  const client = documentClient(dynamoDbClient());
  for (let number = 1; number <= count; number += 1) {
    const pk = `LOCK#${number}`;
    const Item = { pk, member: `m-${number % 3}`, amount: 10, dueAtMs: 1_000 + number, state: 'locked' };
    await client.send(new PutCommand({ TableName: table, Item }));
  }
}

export async function effectsIn(table: string) {
  const client = documentClient(dynamoDbClient());
  const { Items = [] } = await client.send(new ScanCommand({ TableName: table, ConsistentRead: true }));
  const credits = Items.filter(({ pk }) => String(pk).startsWith('CREDIT#'));
  const { Count: locked = 0 } = await client.send(
    new QueryCommand({
      TableName: table,
      IndexName: 'by-state',
      KeyConditionExpression: '#state = :locked',
      ExpressionAttributeNames: { '#state': 'state' },
      ExpressionAttributeValues: { ':locked': 'locked' },
    }),
  );
  const total = Items.find(({ pk }) => pk === 'TOTAL');
  const sum = credits.reduce((all, { amount }) => all + Number(amount), 0);
  return { credits: credits.length, sum, locked, runs: Number(total?.['runs'] ?? 0) };
}
