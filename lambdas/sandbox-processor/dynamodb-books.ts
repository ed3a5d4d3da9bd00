import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { GetCommand, PutCommand, QueryCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import type { Charge } from '../contract/sandbox-api.ts';
import { type BookedCharge, type Books, KEY_RETENTION_MS, type KeyClaim, NO_FAILURES } from './books.ts';
import { type DynamoDbAccess, getAll, transact } from './dynamodb-requests.ts';

/**
 * One table:
 *
 *   pk                sk               what
 *   CHARGE#<id>       CHARGE           the charge and its version
 *   CHARGE#<id>       OPERATION#<key>  a capture, void or refund, with its answer
 *   KEY#<key>         CLAIM            the charge that the key made; judged by claimedAtMs, collected by expiresAt
 *   KEY#<key>         CHARGE#<id>      finds the charges of a key
 *   KEY#<key>         SENDS            how often the key was sent
 *   PAYMENT#<id>      CHARGE#<id>      finds the charges of a payment
 *   CONTROL           FAILURES         the switched failures
 *
 * Charges are found by pointers and not by an index, because an index cannot be read consistently.
 */
const chargeItem = z.object({
  version: z.int(),
  charge: z.object({
    id: z.string(),
    object: z.literal('charge'),
    amount: z.int(),
    amount_captured: z.int(),
    amount_refunded: z.int(),
    currency: z.string(),
    capture: z.enum(['automatic', 'manual']),
    status: z.enum(['authorized', 'succeeded', 'declined', 'voided']),
    failure: z.object({ code: z.string(), message: z.string() }).nullable(),
    metadata: z.record(z.string(), z.string()),
    created: z.int(),
  }) satisfies z.ZodType<Charge>,
});
const claimItem = z.object({ chargeId: z.string(), fingerprint: z.string(), claimedAtMs: z.int() });
const operationItem = z.object({ key: z.string(), fingerprint: z.string(), body: z.string() });
const failuresItem = z.object({ count: z.int(), source: z.string() });
const sendsItem = z.object({ sends: z.int() });
const pointerItem = z.object({ chargeId: z.string() });

export function createDynamoDbBooks(access: DynamoDbAccess): Books {
  return { ...chargeBooks(access), ...operationBooks(access), ...troubleBooks(access) };
}

const chargeKey = (id: string) => ({ pk: `CHARGE#${id}`, sk: 'CHARGE' });
const claimKey = (key: string) => ({ pk: `KEY#${key}`, sk: 'CLAIM' });
const sendsKey = (key: string) => ({ pk: `KEY#${key}`, sk: 'SENDS' });
const operationKey = (chargeId: string, key: string) => ({ pk: `CHARGE#${chargeId}`, sk: `OPERATION#${key}` });
const FAILURES_KEY = { pk: 'CONTROL', sk: 'FAILURES' };

/** Unix seconds, as DynamoDB wants them. */
const expiry = (nowMs: number) => Math.ceil((nowMs + KEY_RETENTION_MS) / 1_000);

function chargeBooks(
  access: DynamoDbAccess,
): Pick<Books, 'claimOf' | 'add' | 'charge' | 'chargesOfKey' | 'chargesOfPayment'> {
  const { tableName } = access;
  return {
    claimOf: async (key, nowMs) => {
      const item = await read(access, claimKey(key), claimItem);
      return item !== undefined && item.claimedAtMs > nowMs - KEY_RETENTION_MS ? item : undefined;
    },
    add: async (charge, request, nowMs) => {
      const pointer = { chargeId: charge.id, sk: `CHARGE#${charge.id}` };
      const paymentId = charge.metadata['payment'];
      const put = (item: object) => ({ Put: { TableName: tableName, Item: item } });
      const claim: KeyClaim & { claimedAtMs: number } = {
        chargeId: charge.id,
        fingerprint: request?.fingerprint ?? '',
        claimedAtMs: nowMs,
      };
      const outcome = await transact(access, [
        put({ ...chargeKey(charge.id), version: 1, charge }),
        ...(paymentId === undefined ? [] : [put({ pk: `PAYMENT#${paymentId}`, ...pointer })]),
        ...(request === undefined
          ? []
          : [
              put({ pk: `KEY#${request.key}`, ...pointer }),
              {
                Put: {
                  TableName: tableName,
                  Item: { ...claimKey(request.key), ...claim, expiresAt: expiry(nowMs) },
                  // Of two rivals one finds the key free. Age is judged here and not left to the late TTL deletion.
                  ConditionExpression: 'attribute_not_exists(pk) OR claimedAtMs <= :forgotten',
                  ExpressionAttributeValues: { ':forgotten': nowMs - KEY_RETENTION_MS },
                },
              },
            ]),
      ]);
      return outcome === 'applied' ? 'added' : 'key_taken';
    },
    charge: (id) => read(access, chargeKey(id), chargeItem),
    chargesOfKey: (key) => chargesAt(access, `KEY#${key}`),
    chargesOfPayment: (paymentId) => chargesAt(access, `PAYMENT#${paymentId}`),
  };
}

function operationBooks(access: DynamoDbAccess): Pick<Books, 'operation' | 'change'> {
  const { tableName } = access;
  return {
    operation: (chargeId, key) => read(access, operationKey(chargeId, key), operationItem),
    change: async (seen: BookedCharge, changed: Charge, operation) => {
      const outcome = await transact(access, [
        {
          Put: {
            TableName: tableName,
            Item: { ...chargeKey(seen.charge.id), version: seen.version + 1, charge: changed },
            // A rival's change raises the version, so that this one is decided again on what the rival left.
            ConditionExpression: 'version = :seen',
            ExpressionAttributeValues: { ':seen': seen.version },
          },
        },
        ...(operation === undefined
          ? []
          : [
              {
                Put: {
                  TableName: tableName,
                  Item: { ...operationKey(seen.charge.id, operation.key), ...operation },
                  ConditionExpression: 'attribute_not_exists(pk)',
                },
              },
            ]),
      ]);
      return outcome === 'applied' ? 'changed' : 'conflict';
    },
  };
}

function troubleBooks(
  access: DynamoDbAccess,
): Pick<Books, 'countSend' | 'switchFailures' | 'switchedFailures' | 'takeSwitchedFailure'> {
  const { client, tableName } = access;
  const switchedFailures = async () => (await read(access, FAILURES_KEY, failuresItem)) ?? NO_FAILURES;
  return {
    countSend: async (key, nowMs) => {
      const { Attributes } = await client.send(
        new UpdateCommand({
          TableName: tableName,
          Key: sendsKey(key),
          UpdateExpression: 'SET expiresAt = :expiry ADD sends :one',
          ExpressionAttributeValues: { ':expiry': expiry(nowMs), ':one': 1 },
          ReturnValues: 'UPDATED_NEW',
        }),
      );
      return sendsItem.parse(Attributes).sends;
    },
    switchFailures: async ({ count, source }) => {
      await client.send(new PutCommand({ TableName: tableName, Item: { ...FAILURES_KEY, count, source } }));
    },
    switchedFailures,
    takeSwitchedFailure: async () => {
      // The read keeps the usual case, in which nothing is switched on, free of writes to one shared item.
      if ((await switchedFailures()).count === 0) {
        return undefined;
      }
      try {
        const { Attributes } = await client.send(
          new UpdateCommand({
            TableName: tableName,
            Key: FAILURES_KEY,
            UpdateExpression: 'ADD #count :less',
            // A rival may have taken the last one since the read.
            ConditionExpression: '#count > :none',
            ExpressionAttributeNames: { '#count': 'count' },
            ExpressionAttributeValues: { ':less': -1, ':none': 0 },
            ReturnValues: 'ALL_NEW',
          }),
        );
        return failuresItem.parse(Attributes).source;
      } catch (error) {
        if (error instanceof ConditionalCheckFailedException) {
          return undefined;
        }
        throw error;
      }
    },
  };
}

async function read<T>(
  { client, tableName }: DynamoDbAccess,
  key: Readonly<Record<string, string>>,
  schema: z.ZodType<T>,
): Promise<T | undefined> {
  const { Item } = await client.send(new GetCommand({ TableName: tableName, Key: key, ConsistentRead: true }));
  return Item === undefined ? undefined : schema.parse(Item);
}

/** The charges that a partition's pointers name, oldest first. */
async function chargesAt(access: DynamoDbAccess, partition: string): Promise<readonly Charge[]> {
  const { client, tableName } = access;
  const ids: string[] = [];
  let from: Record<string, unknown> | undefined;
  // Bounded by the partition: each page begins where the last one ended.
  do {
    const page = await client.send(
      new QueryCommand({
        TableName: tableName,
        KeyConditionExpression: 'pk = :partition AND begins_with(sk, :prefix)',
        ExpressionAttributeValues: { ':partition': partition, ':prefix': 'CHARGE#' },
        ConsistentRead: true,
        ExclusiveStartKey: from,
      }),
    );
    ids.push(...(page.Items ?? []).map((item) => pointerItem.parse(item).chargeId));
    from = page.LastEvaluatedKey;
  } while (from !== undefined);
  const items = await getAll(access, ids.map(chargeKey));
  return items
    .map((item) => chargeItem.parse(item).charge)
    .sort((a, b) => a.created - b.created || a.id.localeCompare(b.id));
}
