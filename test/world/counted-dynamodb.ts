import { PutCommand } from '@aws-sdk/lib-dynamodb';
import type { Clock } from '../../lambdas/kernel/world.ts';
import type { Item } from './dynamodb-values.ts';
import { type Around, MemoryDynamoDb, type MemoryDynamoDbOptions } from './memory-dynamodb.ts';
import { TABLE_SHAPES } from './tables.ts';

/** In-memory DynamoDB with the product's tables. Counts the calls of all clients. */
export class CountedDynamoDb extends MemoryDynamoDb {
  calls = 0;

  constructor(clock: Pick<Clock, 'nowMs'>, options: Pick<MemoryDynamoDbOptions, 'pageBytes'> = {}) {
    super({ ...options, tables: TABLE_SHAPES, nowMs: () => clock.nowMs() });
  }

  override clientWith(around: Around): MemoryDynamoDb['client'] {
    return super.clientWith((command, apply, sent) => {
      this.calls += 1;
      return around(command, apply, sent);
    });
  }

  /** Counts the calls that `act` makes. */
  async counted<Result>(act: () => Promise<Result>): Promise<{ readonly result: Result; readonly calls: number }> {
    const before = this.calls;
    const result = await act();
    return { result, calls: this.calls - before };
  }

  /**
   * Writes copies of each row of the table whose partition key has the prefix.
   *
   * @param changed returns the attributes to change in a copy, given the number of the copy, which starts at 1
   */
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
