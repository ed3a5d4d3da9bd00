import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import {
  BatchGetCommand,
  type BatchGetCommandInput,
  type BatchGetCommandOutput,
  type DynamoDBDocumentClient,
  GetCommand,
  QueryCommand,
  TransactWriteCommand,
  type TransactWriteCommandInput,
} from '@aws-sdk/lib-dynamodb';
import type * as z from 'zod';

export interface DynamoDbAccess {
  readonly client: DynamoDBDocumentClient;
  readonly tableName: string;
  readonly wait: (milliseconds: number) => Promise<void>;
}

/** A rival transaction on the same items completes within milliseconds. */
const MAX_ATTEMPTS = 5;
const FIRST_BACKOFF_MS = 20;

/** A limit of DynamoDB's BatchGetItem. */
const BATCH_SIZE = 100;

const TRANSIENT_REASONS = new Set(['TransactionConflict', 'ThrottlingError', 'ProvisionedThroughputExceeded']);

/**
 * Retries after throttling, and after a conflict with a concurrent transaction. Returns 'refused' when a condition
 * failed.
 *
 * @throws the DynamoDB error after the last attempt, or for any other failure
 */
export async function transact(
  { client, wait }: DynamoDbAccess,
  items: NonNullable<TransactWriteCommandInput['TransactItems']>,
): Promise<'applied' | 'refused'> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await client.send(new TransactWriteCommand({ TransactItems: items }));
      return 'applied';
    } catch (error) {
      const reasons = error instanceof TransactionCanceledException ? (error.CancellationReasons ?? []) : [];
      if (reasons.some(({ Code }) => Code === 'ConditionalCheckFailed')) {
        return 'refused';
      }
      if (attempt === MAX_ATTEMPTS || !reasons.some(({ Code }) => TRANSIENT_REASONS.has(Code ?? ''))) {
        throw error;
      }
      await wait(FIRST_BACKOFF_MS * 2 ** attempt);
    }
  }
}

/** Returns the items in no particular order, without missing ones. */
export async function getAll(
  { client, tableName, wait }: DynamoDbAccess,
  keys: readonly Record<string, string>[],
): Promise<unknown[]> {
  const items: unknown[] = [];
  for (let start = 0; start < keys.length; start += BATCH_SIZE) {
    let request: BatchGetCommandInput['RequestItems'] = {
      [tableName]: { Keys: keys.slice(start, start + BATCH_SIZE), ConsistentRead: true },
    };
    for (let attempt = 1; request?.[tableName] !== undefined; attempt += 1) {
      if (attempt > MAX_ATTEMPTS) {
        throw new Error(`DynamoDB returned unprocessed keys ${MAX_ATTEMPTS} times`);
      }
      if (attempt > 1) {
        await wait(FIRST_BACKOFF_MS * 2 ** attempt);
      }
      const page: BatchGetCommandOutput = await client.send(new BatchGetCommand({ RequestItems: request }));
      items.push(...(page.Responses?.[tableName] ?? []));
      request = page.UnprocessedKeys;
    }
  }
  return items;
}

export async function read<T>(
  { client, tableName }: DynamoDbAccess,
  key: Readonly<Record<string, string>>,
  schema: z.ZodType<T>,
): Promise<T | undefined> {
  const { Item } = await client.send(new GetCommand({ TableName: tableName, Key: key, ConsistentRead: true }));
  return Item === undefined ? undefined : schema.parse(Item);
}

/** Returns the rows in the order of their sort keys. */
export async function pointersAt<T>(
  { client, tableName }: DynamoDbAccess,
  partition: string,
  prefix: string,
  schema: z.ZodType<T>,
): Promise<readonly T[]> {
  const pointers: T[] = [];
  let from: Record<string, unknown> | undefined;
  do {
    const page = await client.send(
      new QueryCommand({
        TableName: tableName,
        KeyConditionExpression: 'pk = :partition AND begins_with(sk, :prefix)',
        ExpressionAttributeValues: { ':partition': partition, ':prefix': prefix },
        ConsistentRead: true,
        ExclusiveStartKey: from,
      }),
    );
    pointers.push(...(page.Items ?? []).map((item) => schema.parse(item)));
    from = page.LastEvaluatedKey;
  } while (from !== undefined);
  return pointers;
}
