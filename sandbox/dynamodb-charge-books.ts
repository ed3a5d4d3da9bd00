import { QueryCommand } from '@aws-sdk/lib-dynamodb';
import type { Charge } from '../lambdas/processors/sandbox/sandbox-api.ts';
import {
  byPlace,
  type ChargeBooks,
  type ChargePage,
  KEY_RETENTION_MS,
  type KeyClaim,
  PAGE_SIZE,
  type Period,
  type Place,
} from './books.ts';
import { type DynamoDbAccess, getAll, pointersAt, read, transact } from './dynamodb-requests.ts';
import {
  CHARGE_PREFIX,
  chargeItem,
  chargePointer,
  claimItem,
  dayOf,
  eventRows,
  expiry,
  rowKey,
  seconds,
} from './dynamodb-rows.ts';

export function chargeBooks(access: DynamoDbAccess): ChargeBooks {
  const { tableName } = access;
  const put = (item: object) => ({ Put: { TableName: tableName, Item: item } });
  return {
    claimOf: async (key, nowMs) => {
      const item = await read(access, rowKey.claim(key), claimItem);
      return item !== undefined && item.claimedAtMs > nowMs - KEY_RETENTION_MS ? item : undefined;
    },
    add: async (charge, event, request, nowMs) => {
      const chargeId = charge.id;
      const paymentId = charge.metadata['payment'];
      const claim: KeyClaim & { claimedAtMs: number } = {
        chargeId,
        fingerprint: request?.fingerprint ?? '',
        claimedAtMs: nowMs,
      };
      const outcome = await transact(access, [
        put({ ...rowKey.charge(chargeId), version: 1, charge }),
        put({ ...rowKey.chargeOfDay(charge), chargeId }),
        ...eventRows(1, [event]).map(put),
        ...(paymentId === undefined ? [] : [put({ ...rowKey.chargeOfPayment(paymentId, chargeId), chargeId })]),
        ...(request === undefined
          ? []
          : [
              put({ ...rowKey.chargeOfKey(request.key, chargeId), chargeId }),
              {
                Put: {
                  TableName: tableName,
                  Item: { ...rowKey.claim(request.key), ...claim, expiresAt: expiry(nowMs) },
                  // TTL deletes items late, so the condition checks the age.
                  ConditionExpression: 'attribute_not_exists(pk) OR claimedAtMs <= :forgotten',
                  ExpressionAttributeValues: { ':forgotten': nowMs - KEY_RETENTION_MS },
                },
              },
            ]),
      ]);
      return outcome === 'applied' ? 'added' : 'key_taken';
    },
    charge: (id) => read(access, rowKey.charge(id), chargeItem),
    chargesOfKey: (key) => chargesAt(access, `KEY#${key}`),
    chargesOfPayment: (paymentId) => chargesAt(access, `PAYMENT#${paymentId}`),
    chargesOfPeriod: (period, after) => chargesOfPeriod(access, period, after),
    chargeOfPart: async (id) => (await read(access, rowKey.part(id), chargePointer))?.chargeId,
  };
}

async function chargesAt(access: DynamoDbAccess, partition: string): Promise<readonly Charge[]> {
  const pointers = await pointersAt(access, partition, CHARGE_PREFIX, chargePointer);
  return chargesOf(
    access,
    pointers.map(({ chargeId }) => chargeId),
  );
}

async function chargesOf(access: DynamoDbAccess, ids: readonly string[]): Promise<readonly Charge[]> {
  const items = await getAll(access, ids.map(rowKey.charge));
  return items.map((item) => chargeItem.parse(item).charge).sort(byPlace);
}

/** One charge more than the page needs shows whether a next page exists. */
async function chargesOfPeriod(access: DynamoDbAccess, period: Period, after: Place | undefined): Promise<ChargePage> {
  const ids: string[] = [];
  for (const day of daysOf({ ...period, from: after?.created ?? period.from })) {
    ids.push(...(await idsOfDay(access, day, period, after, PAGE_SIZE + 1 - ids.length)));
    if (ids.length > PAGE_SIZE) {
      break;
    }
  }
  return { charges: await chargesOf(access, ids.slice(0, PAGE_SIZE)), more: ids.length > PAGE_SIZE };
}

const DAY_SECONDS = 24 * 60 * 60;

/** The API limits a period to 31 days. */
function daysOf({ from, to }: Period): readonly string[] {
  const days: string[] = [];
  for (let start = from - (from % DAY_SECONDS); start < to; start += DAY_SECONDS) {
    days.push(dayOf(start));
  }
  return days;
}

async function idsOfDay(
  { client, tableName }: DynamoDbAccess,
  day: string,
  { from, to }: Period,
  after: Place | undefined,
  limit: number,
): Promise<readonly string[]> {
  const start = after === undefined ? undefined : rowKey.chargeOfDay(after);
  const { Items } = await client.send(
    new QueryCommand({
      TableName: tableName,
      // BETWEEN includes both bounds, but no sort key equals `:to`, because an id follows the seconds.
      KeyConditionExpression: 'pk = :day AND sk BETWEEN :from AND :to',
      ExpressionAttributeValues: { ':day': `DAY#${day}`, ':from': seconds(from), ':to': seconds(to) },
      // Pointers are small: a page is far below the limit of 1 MB per query.
      Limit: limit,
      ConsistentRead: true,
      ...(start?.pk === `DAY#${day}` ? { ExclusiveStartKey: start } : {}),
    }),
  );
  return (Items ?? []).map((item) => chargePointer.parse(item).chargeId);
}
