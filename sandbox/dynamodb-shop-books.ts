import { PutCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import type { Credit, Reservation } from '../lambdas/orders/parties/shop-api.ts';
import { byPlace, type EntryBooks, type ShopBooks } from './books.ts';
import { type DynamoDbAccess, getAll, pointersAt, read, transact } from './dynamodb-requests.ts';

/**
 * Rows in the sandbox's table; `<SERVICE>` is STOCK or CREDITS:
 *
 *   pk                    sk             what
 *   <SERVICE>#<id>        ENTRY          a reservation or credit
 *   <SERVICE>_KEY#<key>   CLAIM          the entry of the key
 *   <SERVICE>_ORDER#<id>  ENTRY#<id>     finds an order's reservations or credits
 */
const rowKeysOf = (service: 'STOCK' | 'CREDITS') => ({
  entry: (id: string) => ({ pk: `${service}#${id}`, sk: 'ENTRY' }),
  claim: (key: string) => ({ pk: `${service}_KEY#${key}`, sk: 'CLAIM' }),
  entryOfOrder: (order: string, id: string) => ({ pk: `${service}_ORDER#${order}`, sk: `${ENTRY_PREFIX}${id}` }),
});

const ENTRY_PREFIX = 'ENTRY#';

const reservation = z.object({
  id: z.string(),
  object: z.literal('reservation'),
  order: z.string(),
  items: z.array(z.object({ sku: z.string(), quantity: z.int() })),
  status: z.enum(['reserved', 'released']),
  created: z.int(),
}) satisfies z.ZodType<Reservation>;

const credit = z.object({
  id: z.string(),
  object: z.literal('credit'),
  order: z.string(),
  referrer: z.string(),
  amount: z.int(),
  currency: z.string(),
  created: z.int(),
}) satisfies z.ZodType<Credit>;

const claimItem = z.object({ entryId: z.string(), fingerprint: z.string() });
const entryPointer = z.object({ entryId: z.string() });

export function shopBooks(access: DynamoDbAccess): ShopBooks {
  return {
    stock: entryBooks<Reservation>(access, 'STOCK', reservation),
    credits: entryBooks<Credit>(access, 'CREDITS', credit),
  };
}

function entryBooks<E extends Reservation | Credit>(
  access: DynamoDbAccess,
  service: 'STOCK' | 'CREDITS',
  schema: z.ZodType<E>,
): EntryBooks<E> {
  const { client, tableName } = access;
  const rowKey = rowKeysOf(service);
  const item = z.object({ entry: schema });
  const put = (row: object) => ({ Put: { TableName: tableName, Item: row } });
  return {
    claimOf: (key) => read(access, rowKey.claim(key), claimItem),
    add: async (entry, request) => {
      const entryId = entry.id;
      const outcome = await transact(access, [
        put({ ...rowKey.entry(entryId), entry }),
        put({ ...rowKey.entryOfOrder(entry.order, entryId), entryId }),
        ...(request === undefined
          ? []
          : [
              {
                Put: {
                  TableName: tableName,
                  Item: { ...rowKey.claim(request.key), entryId, fingerprint: request.fingerprint },
                  ConditionExpression: 'attribute_not_exists(pk)',
                },
              },
            ]),
      ]);
      return outcome === 'applied' ? 'added' : 'key_taken';
    },
    entry: async (id) => (await read(access, rowKey.entry(id), item))?.entry,
    replace: async (entry) => {
      await client.send(
        new PutCommand({
          TableName: tableName,
          Item: { ...rowKey.entry(entry.id), entry },
          ConditionExpression: 'attribute_exists(pk)',
        }),
      );
    },
    entriesOfOrder: async (order) => {
      const pointers = await pointersAt(access, rowKey.entryOfOrder(order, '').pk, ENTRY_PREFIX, entryPointer);
      const items = await getAll(
        access,
        pointers.map(({ entryId }) => rowKey.entry(entryId)),
      );
      return items.map((found) => item.parse(found).entry).sort(byPlace);
    },
  };
}
