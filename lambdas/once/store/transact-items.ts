import { randomUUID } from 'node:crypto';
import type { CancellationReason } from '@aws-sdk/client-dynamodb';
import type { DynamoDBDocumentClient, TransactWriteCommandInput } from '@aws-sdk/lib-dynamodb';
import { TransactWriteCommand } from '@aws-sdk/lib-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { IdempotencyTable, KeyAttribute } from '../../kernel/contract/tables.ts';
import type { Pacing, WriteResult } from '../../kernel/platform/attempts.ts';
import { writeConditionally } from '../../kernel/platform/attempts.ts';
import type { Item } from '../../kernel/platform/items.ts';

export interface StoreTables {
  readonly idempotency: string;
  readonly ledger: string;
  readonly registry: string;
}

export type TransactItem = NonNullable<TransactWriteCommandInput['TransactItems']>[number];

export const RECORD_IS_NEW = `attribute_not_exists(${IdempotencyTable.partitionKey})`;
export const ROW_IS_NEW = `attribute_not_exists(${KeyAttribute.partition})`;

/**
 * All attempts have the same client request token, so DynamoDB applies the transaction once. A retry within ten minutes
 * gets the same response as the first request (Amazon DynamoDB API reference, "TransactWriteItems").
 *
 * @param onConflict as for `writeConditionally`
 */
export async function transactOnce<Early = never>(
  client: DynamoDBDocumentClient,
  pacing: Pacing,
  items: TransactItem[],
  onConflict?: () => Promise<Early | undefined>,
): Promise<WriteResult<Early>> {
  const command = { TransactItems: items, ClientRequestToken: randomUUID() };
  return writeConditionally(pacing, () => client.send(new TransactWriteCommand(command)), onConflict);
}

export function isRefused(reason: CancellationReason | undefined): boolean {
  return reason?.Code === 'ConditionalCheckFailed';
}

/** Undefined unless the write asked DynamoDB to return the item. */
export function itemOf(reason: CancellationReason | undefined): Item | undefined {
  return isRefused(reason) && reason?.Item !== undefined ? unmarshall(reason.Item) : undefined;
}
