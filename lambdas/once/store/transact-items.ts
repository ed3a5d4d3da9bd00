import { randomUUID } from 'node:crypto';
import type { CancellationReason } from '@aws-sdk/client-dynamodb';
import type { DynamoDBDocumentClient, TransactWriteCommandInput } from '@aws-sdk/lib-dynamodb';
import { TransactWriteCommand } from '@aws-sdk/lib-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { IdempotencyTable, KeyAttribute } from '../../kernel/contract/tables.ts';
import type { Pacing, WriteResult } from '../../kernel/platform/attempts.ts';
import { writeConditionally } from '../../kernel/platform/attempts.ts';
import { holdRow } from '../../kernel/platform/due-rows.ts';
import type { Transition } from '../../payments/domain/transition.ts';
import { chargeToReturnRow, inquiryRow } from '../../payments/store/effect-items.ts';
import type { Item } from '../../payments/store/items.ts';
import { transitionRow } from '../../payments/store/items.ts';
import type { ChargeToReturn, Hold, Inquiry } from '../../payments/use/payment-store.ts';

export interface StoreTables {
  readonly idempotency: string;
  readonly ledger: string;
  readonly registry: string;
}

export type TransactItem = NonNullable<TransactWriteCommandInput['TransactItems']>[number];

export const RECORD_IS_NEW = `attribute_not_exists(${IdempotencyTable.partitionKey})`;
export const ROW_IS_NEW = `attribute_not_exists(${KeyAttribute.partition})`;

/** A transition's place in the chain can be taken once. */
export function appendItem({ ledger }: StoreTables, transition: Transition): TransactItem {
  return { Put: { TableName: ledger, Item: transitionRow(transition), ConditionExpression: ROW_IS_NEW } };
}

/** The same charge found as held, then as taken, is one entry: the later word counts. */
export function returnItem({ registry }: StoreTables, charge: ChargeToReturn): TransactItem {
  return { Put: { TableName: registry, Item: chargeToReturnRow(charge) } };
}

export function inquiryItem({ registry }: StoreTables, inquiry: Inquiry): TransactItem {
  return { Put: { TableName: registry, Item: inquiryRow(inquiry) } };
}

export function holdItem({ registry }: StoreTables, hold: Hold): TransactItem {
  return { Put: { TableName: registry, Item: holdRow(hold) } };
}

/** One token for all sendings: DynamoDB applies them once and answers the later ones as the first (for ten minutes). */
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

/** The item that stood in the way, where it was asked for. */
export function itemOf(reason: CancellationReason | undefined): Item | undefined {
  return isRefused(reason) && reason?.Item !== undefined ? unmarshall(reason.Item) : undefined;
}
