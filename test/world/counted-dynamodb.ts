import {
  type BatchGetCommandOutput,
  type GetCommandOutput,
  PutCommand,
  type QueryCommandOutput,
} from '@aws-sdk/lib-dynamodb';
import type { Clock } from '../../lambdas/kernel/world.ts';
import type { Item } from './dynamodb-values.ts';
import { type Around, MemoryDynamoDb, type MemoryDynamoDbOptions } from './memory-dynamodb.ts';
import { TABLE_SHAPES } from './tables.ts';

/** Includes items that the filter dropped. @param answer the response */
export function itemsRead(answer: unknown): number {
  const {
    ScannedCount,
    Item: item,
    Responses = {},
  } = (answer ?? {}) as Partial<QueryCommandOutput & GetCommandOutput> & Partial<BatchGetCommandOutput>;
  const batch = Object.values(Responses).reduce((sum, { length }) => sum + length, 0);
  return batch + (ScannedCount ?? (item === undefined ? 0 : 1));
}

/** Counts the calls of all clients, and the items that they read. */
export class CountedDynamoDb extends MemoryDynamoDb {
  calls = 0;
  read = 0;

  constructor(clock: Pick<Clock, 'nowMs'>, options: Pick<MemoryDynamoDbOptions, 'pageBytes'> = {}) {
    super({ ...options, tables: TABLE_SHAPES, nowMs: () => clock.nowMs() });
  }

  override clientWith(around: Around): MemoryDynamoDb['client'] {
    return super.clientWith((command, apply, sent) => {
      this.calls += 1;
      const counted: typeof apply = async () => {
        const answer = await apply();
        this.read += itemsRead(answer);
        return answer;
      };
      return around(command, counted, sent);
    });
  }

  async counted<Result>(
    act: () => Promise<Result>,
  ): Promise<{ readonly result: Result; readonly calls: number; readonly read: number }> {
    const before = { calls: this.calls, read: this.read };
    const result = await act();
    return { result, calls: this.calls - before.calls, read: this.read - before.read };
  }

  /** @param changed returns the attributes to change in a copy, given the number of the copy, which starts at 1 */
  async copy(
    table: string,
    prefix: string,
    copies: number,
    changed: (row: Item, number: number) => Item,
  ): Promise<void> {
    for (const row of this.items(table, prefix)) {
      for (let number = 1; number <= copies; number += 1) {
        await this.client.send(new PutCommand({ TableName: table, Item: { ...row, ...changed(row, number) } }));
      }
    }
  }
}
