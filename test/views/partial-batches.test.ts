import { BatchGetCommand, BatchWriteCommand, type DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, test } from '@jest/globals';
import * as z from 'zod';
import type { ViewRow } from '../../lambdas/views/domain/views.ts';
import { DynamoDbViews } from '../../lambdas/views/store/dynamodb-views.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { emptyTables } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';

const rows = Array.from(
  { length: 60 },
  (_, index): ViewRow => ({ partition: 'TEST#batch', sort: String(100 + index), sequence: 1, body: String(index) }),
);

let batches: number[];
/** Number of rows that DynamoDB processes per batch call. */
let processed: number;
let views: DynamoDbViews;

beforeEach(() => {
  batches = [];
  const { client } = emptyTables();
  const table = TABLES.views;
  const send = async (command: Parameters<typeof client.send>[0]): Promise<unknown> => {
    if (command instanceof BatchWriteCommand) {
      const requests = command.input.RequestItems?.[table] ?? [];
      batches.push(requests.length);
      const [now, left] = [requests.slice(0, processed), requests.slice(processed)];
      if (now.length > 0) await client.send(new BatchWriteCommand({ RequestItems: { [table]: now } }));
      return { UnprocessedItems: left.length > 0 ? { [table]: left } : {} };
    }
    if (!(command instanceof BatchGetCommand)) return client.send(command);
    const { Keys = [] } = command.input.RequestItems?.[table] ?? {};
    batches.push(Keys.length);
    const [now, left] = [Keys.slice(0, processed), Keys.slice(processed)];
    const found = await client.send(new BatchGetCommand({ RequestItems: { [table]: { Keys: now } } }));
    return { ...found, UnprocessedKeys: left.length > 0 ? { [table]: { Keys: left } } : {} };
  };
  const partly = Object.create(client, { send: { value: send } }) as DynamoDBDocumentClient;
  views = new DynamoDbViews(partly, table, { clock: new SimulatedClock(), entropy: countingEntropy() });
});

describe('rows of the Views', () => {
  test('that DynamoDB left unprocessed in a batch are written or read again until none is left', async () => {
    processed = 10;
    await views.put(rows.slice(0, 40));
    expect(batches.splice(0)).toEqual([25, 15, 5, 15, 5]);
    expect(await views.readAll(rows.slice(0, 40))).toEqual(rows.slice(0, 40));
    expect(batches).toEqual([40, 30, 20, 10]);
  });

  test('are written in batches of 25', async () => {
    processed = 25;
    await views.put(rows);
    expect(batches).toEqual([25, 25, 10]);
  });

  test('that cannot be parsed fail with the same error whether read alone or in a batch', async () => {
    processed = 25;
    const [row] = rows;
    if (row === undefined) throw new Error('there is no row');
    await views.put([{ ...row, body: undefined as unknown as string }]);
    const alone: unknown = await views.read(row).catch((error: unknown) => error);
    expect(alone).toBeInstanceOf(z.ZodError);
    await expect(views.readAll([row])).rejects.toEqual(alone);
  });

  test('fail with a retryable error if DynamoDB never processes a batch', async () => {
    processed = 0;
    await expect(views.put(rows.slice(0, 2))).rejects.toMatchObject({ name: 'RetryableError' });
    expect(batches).toEqual([2, 2, 2, 2, 2]);
  });
});
