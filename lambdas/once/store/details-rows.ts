/** The details rows of payments and orders: their personal data, and the salt of the commitment to this data. */
import type { DynamoDBDocumentClient, QueryCommandInput } from '@aws-sdk/lib-dynamodb';
import { GetCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { type EmailRow, RegistryRow } from '../../kernel/contract/rows.ts';
import { KeyAttribute, RegistryTable } from '../../kernel/contract/tables.ts';
import { defined } from '../../kernel/defined.ts';
import { sameBytes } from '../../kernel/digest.ts';
import { emailPartition } from '../../kernel/email-hashes.ts';
import { invariant } from '../../kernel/invariant.ts';
import { createdSortKey } from '../../kernel/places.ts';
import { type Pacing, readWithRetries } from '../../kernel/platform/attempts.ts';
import type { Item } from '../../kernel/platform/items.ts';
import { systemDigest } from '../../kernel/platform/platform.ts';
import { type Seal, sealOf } from '../../kernel/sealed-details.ts';
import type { StoreTables, TransactItem } from './transact-items.ts';

const ROW_EXISTS = `attribute_exists(${KeyAttribute.partition})`;

/** Each other details row has an id as its sort key. */
export const OWN_DETAILS = 'DETAILS';

const detailsRow = z.lazy(() =>
  z.object({ salt: z.instanceof(Uint8Array), details: z.record(z.string(), z.unknown()) }),
);

/**
 * @param id the id of the payment or the order
 * @param part the id of a refund, capture, cancellation, correction, decision, annotation or approval
 * @default the details of the payment or the order itself
 */
export function detailsKey(id: string, part: string = OWN_DETAILS): Item {
  return { [KeyAttribute.partition]: `${RegistryRow.details}${id}`, [KeyAttribute.sort]: part };
}

export function parseDetails(item: Item): z.infer<typeof detailsRow> {
  return detailsRow.parse(item);
}

export interface FoundByEmail {
  readonly kind: (typeof EmailRow)[keyof typeof EmailRow];
  readonly hash: string;
  readonly createdAtMs: number;
}

/** Deleting the row removes it from the index. */
export function emailAttributes(id: string, { kind, hash, createdAtMs }: FoundByEmail): Item {
  const { partitionKey, sortKey } = RegistryTable.emailIndex;
  return {
    [partitionKey]: emailPartition(kind, hash, id),
    [sortKey]: createdSortKey(Math.floor(createdAtMs / 1000), id),
  };
}

/**
 * Must be written in one transaction with the transition or approval that contains its commitment. The row needs no
 * condition, because only one transition can take a position in the chain. After a restore, the row may exist without
 * its transition; a condition would then refuse the retry.
 *
 * @param part as for {@link detailsKey}
 * @param found further attributes that list the row in an index
 */
export function detailsItem(
  { registry }: Pick<StoreTables, 'registry'>,
  id: string,
  salt: Uint8Array,
  details: object,
  { part, found = {} }: { readonly part?: string; readonly found?: Item } = {},
): TransactItem {
  const Item = { ...detailsKey(id, part), salt, details, ...found };
  return { Put: { TableName: registry, Item } };
}

/** @param part as for {@link detailsKey} */
export function checkDetails({ registry }: Pick<StoreTables, 'registry'>, id: string, part: string): TransactItem {
  return { ConditionCheck: { TableName: registry, Key: detailsKey(id, part), ConditionExpression: ROW_EXISTS } };
}

export interface DetailsTools {
  readonly client: DynamoDBDocumentClient;
  readonly registry: string;
  readonly pacing: Pacing;
}

/** The keys are sort keys. */
export type DetailsRows = ReadonlyMap<unknown, Item>;

export async function readDetailsRows({ client, registry, pacing }: DetailsTools, id: string): Promise<DetailsRows> {
  const rows = new Map<unknown, Item>();
  let from: Item | undefined;
  do {
    const input: QueryCommandInput = {
      TableName: registry,
      KeyConditionExpression: '#pk = :pk',
      ExpressionAttributeNames: { '#pk': KeyAttribute.partition },
      ExpressionAttributeValues: { ':pk': detailsKey(id)[KeyAttribute.partition] },
      ConsistentRead: true,
      ...defined({ ExclusiveStartKey: from }),
    };
    const { Items = [], LastEvaluatedKey } = await readWithRetries(pacing, () => client.send(new QueryCommand(input)));
    for (const item of Items) rows.set(item[KeyAttribute.sort], item);
    from = LastEvaluatedKey;
  } while (from !== undefined);
  return rows;
}

/**
 * @param from the rows if they were already read, or the tools that read the row
 * @returns the details and their salt; undefined when they were erased
 * @throws InvariantViolation when the row does not match the commitment, because the row was changed
 */
export async function readDetails<Details extends object>(
  from: DetailsTools | DetailsRows,
  id: string,
  commitment: Seal['commitment'],
  schema: z.ZodType<Details>,
  part = OWN_DETAILS,
): Promise<(Details & Pick<Seal, 'salt'>) | undefined> {
  const item = 'client' in from ? await readRow(from, detailsKey(id, part)) : from.get(part);
  if (item === undefined) return undefined;
  const { salt, details } = parseDetails(item);
  const isUnchanged = sameBytes(sealOf(systemDigest, details, salt).commitment, commitment);
  invariant(isUnchanged, `the details of ${id} do not match the commitment in its chain`);
  return { ...schema.parse(details), salt };
}

async function readRow({ client, registry, pacing }: DetailsTools, key: Item): Promise<Item | undefined> {
  const input = { TableName: registry, Key: key, ConsistentRead: true };
  return (await readWithRetries(pacing, () => client.send(new GetCommand(input)))).Item;
}

/** A transaction has at most 100 items, and one of them records the erasure. */
const ERASED_AT_ONCE = 99;

/**
 * The commitments stay in the chain.
 *
 * @returns transaction items that delete up to 99 of the remaining rows; empty when no row is left
 */
export async function eraseDetailsItems(
  { client, registry, pacing }: DetailsTools,
  id: string,
): Promise<readonly TransactItem[]> {
  const { Items = [] } = await readWithRetries(pacing, () =>
    client.send(
      new QueryCommand({
        TableName: registry,
        KeyConditionExpression: '#pk = :pk',
        ProjectionExpression: '#pk, #sk',
        ExpressionAttributeNames: { '#pk': KeyAttribute.partition, '#sk': KeyAttribute.sort },
        ExpressionAttributeValues: { ':pk': detailsKey(id)[KeyAttribute.partition] },
        ConsistentRead: true,
        Limit: ERASED_AT_ONCE,
      }),
    ),
  );
  // If two erasures are concurrent, the second transaction is canceled, together with its entry in the activity log.
  return Items.map((Key) => ({ Delete: { TableName: registry, Key, ConditionExpression: ROW_EXISTS } }));
}
