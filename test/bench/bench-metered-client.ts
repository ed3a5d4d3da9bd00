import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import * as z from 'zod';
import { KeyAttribute } from '../../lambdas/kernel/contract/tables.ts';

export interface MeteredCall {
  /** For example `TransactWriteItems`. */
  readonly name: string;
  readonly kind: 'read' | 'write';
  /** False if the call failed or a condition refused it. */
  readonly applied: boolean;
  /** A refused call reports none. */
  readonly units: number;
  readonly unitsByTable: Readonly<Record<string, number>>;
  /** Lists the table, partition key and sort key of every item in a write. */
  readonly keys: readonly string[];
}

export interface MeteredClient {
  readonly client: DynamoDBClient;
  readonly calls: readonly MeteredCall[];
}

const text = z.union([z.string(), z.object({ S: z.string() }).transform(({ S }) => S)]);
const keyOfItem = z.looseObject({ [KeyAttribute.partition]: text, [KeyAttribute.sort]: text.optional() });
const oneItem = z.object({ TableName: z.string(), Key: keyOfItem.optional(), Item: keyOfItem.optional() });
const transaction = z.object({
  TransactItems: z.array(
    z.object({ Put: oneItem, Update: oneItem, Delete: oneItem, ConditionCheck: oneItem }).partial(),
  ),
});
const batchOfPuts = z.object({
  RequestItems: z.record(z.string(), z.array(z.object({ PutRequest: z.object({ Item: keyOfItem }) }))),
});
const batchOfReads = z.object({
  RequestItems: z.record(z.string(), z.object({ Keys: z.array(z.unknown()) })),
});
const capacity = z.object({ TableName: z.string(), CapacityUnits: z.number() });
const metered = z.object({ ConsumedCapacity: z.union([z.array(capacity), capacity.transform((one) => [one])]) });

export function meteredClient(config: DynamoDBClientConfig): MeteredClient {
  const client = new DynamoDBClient({ ...config, maxAttempts: 1 });
  const calls: MeteredCall[] = [];
  client.middlewareStack.add(
    (next, context) => async (args) => {
      const name = (context.commandName ?? 'call').replace(/Command$/, '');
      const kind = /^(Get|Query|Scan|BatchGet|TransactGet)/.test(name) ? 'read' : 'write';
      const call = { name, kind, keys: kind === 'write' ? keysOf(args.input) : [] } as const;
      try {
        const result = await next({ ...args, input: { ...args.input, ReturnConsumedCapacity: 'INDEXES' } });
        const unitsByTable = unitsOf(args.input, result.output);
        const units = Object.values(unitsByTable).reduce((sum, some) => sum + some, 0);
        calls.push({ ...call, applied: true, units, unitsByTable });
        return result;
      } catch (error) {
        calls.push({ ...call, applied: false, units: 0, unitsByTable: {} });
        throw error;
      }
    },
    { step: 'initialize', priority: 'high' },
  );
  return { client, calls };
}

function keysOf(input: unknown): readonly string[] {
  const several = transaction.safeParse(input);
  if (several.success) return namesOf(several.data.TransactItems.flatMap((item) => Object.values(item)));
  const batch = batchOfPuts.safeParse(input);
  if (!batch.success) return namesOf([oneItem.parse(input)]);
  return Object.entries(batch.data.RequestItems).flatMap(([TableName, requests]) =>
    namesOf(requests.map(({ PutRequest: { Item } }) => ({ TableName, Item }))),
  );
}

function namesOf(items: readonly (z.infer<typeof oneItem> | undefined)[]): readonly string[] {
  return items
    .filter((item) => item !== undefined)
    .map(({ TableName, Key, Item }) => {
      const key = keyOfItem.parse(Key ?? Item);
      return [TableName, key[KeyAttribute.partition], key[KeyAttribute.sort] ?? ''].join(' ');
    });
}

/**
 * The local DynamoDB reports no units for a batch read. Such a read costs one unit for each key, because no row in a
 * batch is larger than four kilobytes.
 */
function unitsOf(input: unknown, output: unknown): Readonly<Record<string, number>> {
  const reads = batchOfReads.safeParse(input);
  if (reads.success) {
    const byTable = Object.entries(reads.data.RequestItems);
    return Object.fromEntries(byTable.map(([table, { Keys }]) => [table, Keys.length]));
  }
  const { ConsumedCapacity } = metered.parse(output);
  return Object.fromEntries(ConsumedCapacity.map(({ TableName, CapacityUnits }) => [TableName, CapacityUnits]));
}
