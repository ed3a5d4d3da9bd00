import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { GetCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { RegistryRow } from '../../kernel/contract/rows.ts';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import { sameBytes } from '../../kernel/digest.ts';
import { invariant } from '../../kernel/invariant.ts';
import { type Pacing, readWithRetries } from '../../kernel/platform/attempts.ts';
import type { Item } from '../../kernel/platform/items.ts';
import { systemDigest } from '../../kernel/platform/platform.ts';
import { type Seal, sealOf } from '../../kernel/sealed-details.ts';
import { ROW_IS_NEW, type StoreTables, type TransactItem } from './transact-items.ts';

/** The details rows of payments and orders: their personal data, and the salt of the commitment to it. */

const detailsRow = z.object({ salt: z.instanceof(Uint8Array), details: z.record(z.string(), z.unknown()) });

/** @param id of the payment or the order */
export function detailsKey(id: string): Item {
  return { [KeyAttribute.partition]: `${RegistryRow.details}${id}`, [KeyAttribute.sort]: 'DETAILS' };
}

export function parseDetails(item: Item): z.infer<typeof detailsRow> {
  return detailsRow.parse(item);
}

/** Written in the transaction of the first transition. */
export function detailsItem(
  { registry }: Pick<StoreTables, 'registry'>,
  id: string,
  salt: Uint8Array,
  details: object,
): TransactItem {
  return {
    Put: { TableName: registry, Item: { ...detailsKey(id), salt, details }, ConditionExpression: ROW_IS_NEW },
  };
}

export interface DetailsTools {
  readonly client: DynamoDBDocumentClient;
  readonly registry: string;
  readonly pacing: Pacing;
}

/**
 * A strongly consistent read.
 *
 * @returns the details and their salt; undefined when they are erased
 * @throws InvariantViolation when the row was changed: it does not match the commitment
 */
export async function readDetails<Details extends object>(
  { client, registry, pacing }: DetailsTools,
  id: string,
  commitment: Seal['commitment'],
  schema: z.ZodType<Details>,
): Promise<(Details & Pick<Seal, 'salt'>) | undefined> {
  const { Item: item } = await readWithRetries(pacing, () =>
    client.send(new GetCommand({ TableName: registry, Key: detailsKey(id), ConsistentRead: true })),
  );
  if (item === undefined) return undefined;
  const { salt, details } = parseDetails(item);
  const isUnchanged = sameBytes(sealOf(systemDigest, details, salt).commitment, commitment);
  invariant(isUnchanged, `the details of ${id} match the commitment in its chain`);
  return { ...schema.parse(details), salt };
}

/** Deletes the details row, if it exists. The commitment stays in the chain. */
export function eraseDetailsItem({ registry }: Pick<StoreTables, 'registry'>, id: string): TransactItem {
  const condition = `attribute_exists(${KeyAttribute.partition})`;
  return { Delete: { TableName: registry, Key: detailsKey(id), ConditionExpression: condition } };
}
