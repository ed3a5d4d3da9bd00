import { DynamoDBServiceException } from '@aws-sdk/client-dynamodb';
import { BatchWriteCommand, type DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { describe, expect, test } from '@jest/globals';

type Item = Readonly<Record<string, unknown>>;

interface Prepared {
  readonly client: DynamoDBDocumentClient;
  readonly table: string;
  readonly key: (sort: string) => Item;
  readonly put: (item: Record<string, unknown>) => Promise<unknown>;
  readonly get: (sort: string) => Promise<Item | undefined>;
}

/** @param prepare returns a table with a partition that no other test uses */
export function describeBatchWrites(prepare: () => Promise<Prepared>): void {
  describe('batches of puts', () => {
    const requestsOf = (sorts: readonly string[], key: Prepared['key']) =>
      sorts.map((sort) => ({ PutRequest: { Item: { ...key(sort), text: sort } } }));

    test('write each item, and replace an existing item with the same key', async () => {
      const { client, table, key, put, get } = await prepare();
      await put({ sk: 'a', text: 'old' });
      const RequestItems = { [table]: requestsOf(['a', 'b'], key) };
      const { UnprocessedItems = {} } = await client.send(new BatchWriteCommand({ RequestItems }));
      expect(UnprocessedItems).toEqual({});
      expect([await get('a'), await get('b')]).toEqual([
        { ...key('a'), text: 'a' },
        { ...key('b'), text: 'b' },
      ]);
    });

    test('are rejected as a whole if they contain two puts of one item, or more than 25 puts', async () => {
      const { client, table, key, get } = await prepare();
      const many = Array.from({ length: 26 }, (_, each) => `many-${each}`);
      for (const sorts of [['a', 'a'], many]) {
        const RequestItems = { [table]: requestsOf(sorts, key) };
        const refused = await client.send(new BatchWriteCommand({ RequestItems })).catch((error: unknown) => error);
        expect(refused).toBeInstanceOf(DynamoDBServiceException);
        expect(refused).toMatchObject({ name: 'ValidationException' });
      }
      expect(await get('a')).toBeUndefined();
    });
  });
}
