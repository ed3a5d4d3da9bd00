import { DeleteCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import { dueSort, postponedSort } from '../../kernel/due-sort.ts';
import { readWithRetries, writeConditionally } from '../../kernel/platform/attempts.ts';
import { type DueRows, type QueueTools, unreadableRow } from '../../kernel/platform/queue-rows.ts';
import { eachShard } from '../../kernel/platform/shards.ts';
import { transactOnce } from '../../once/store/transact-items.ts';
import type { Postponement } from '../../payments/use/unfinished-work.ts';
import { type DuePage, type DueQueue, type DueRange, listBoth, mergedPage } from '../use/due-queue.ts';

interface Part {
  readonly from: string;
  readonly until: string;
  readonly limit: number;
  /** Number of characters that precede the time in the sort keys. */
  readonly prefixLength: number;
}

/** A queue that is spread over several partitions. Each page merges the rows of all partitions, sorted by due time. */
export class DynamoDbDueQueue<Row> implements DueQueue<Row> {
  readonly #tools: QueueTools;
  readonly #rows: DueRows<Row>;

  constructor(tools: QueueTools, rows: DueRows<Row>) {
    this.#tools = tools;
    this.#rows = rows;
  }

  async dueBefore(beforeMs: number, range: DueRange): Promise<DuePage<Row>> {
    return listBoth(range, async (isPostponed, { after, limit }) => {
      const sort = isPostponed ? postponedSort : dueSort;
      const prefixLength = sort(0, '').length - dueSort(0, '').length;
      const until = sort(isPostponed ? (range.postponedBeforeMs ?? 0) : beforeMs, '');
      // Appending NUL gives the next possible sort key.
      const from = after === '' ? sort(0, '') : `${until.slice(0, prefixLength)}${after}\u0000`;
      // Because clocks differ, the range can end before the cursor of the previous page. DynamoDB would reject such a
      // range.
      if (from > until) return { rows: [] };
      const part = { from, until, limit, prefixLength };
      return mergedPage(
        await Promise.all(eachShard(this.#rows.shards()).map((shard) => this.#pageOf(shard, part))),
        limit,
      );
    });
  }

  async #pageOf(shard: number, { from, until, limit, prefixLength }: Part): Promise<DuePage<Row>> {
    const { client, table, pacing, unreadable } = this.#tools;
    const output = await readWithRetries(pacing, () =>
      client.send(
        new QueryCommand({
          TableName: table,
          KeyConditionExpression: '#pk = :pk AND #sk BETWEEN :from AND :until',
          ExpressionAttributeNames: { '#pk': KeyAttribute.partition, '#sk': KeyAttribute.sort },
          ExpressionAttributeValues: { ':pk': this.#rows.partition(shard), ':from': from, ':until': until },
          ConsistentRead: true,
          Limit: limit,
        }),
      ),
    );
    const items = output.Items ?? [];
    const last: unknown = output.LastEvaluatedKey?.[KeyAttribute.sort];
    const rows = items.flatMap((item) => {
      try {
        return [{ row: this.#rows.parse(item), cursor: String(item[KeyAttribute.sort]).slice(prefixLength) }];
      } catch (cause) {
        unreadable(unreadableRow(item, cause));
        return [];
      }
    });
    return { rows, ...(typeof last === 'string' ? { next: last.slice(prefixLength) } : {}) };
  }

  async postpone(row: Row, next: Postponement): Promise<void> {
    const { client, table, pacing } = this.#tools;
    const moved = { ...row, ...next };
    const exists = {
      ConditionExpression: 'attribute_exists(#pk)',
      ExpressionAttributeNames: { '#pk': KeyAttribute.partition },
    };
    await transactOnce(client, pacing, [
      { Delete: { TableName: table, Key: this.#rows.keyOf(row), ...exists } },
      { Put: { TableName: table, Item: { ...this.#rows.keyOf(moved), ...moved, ...this.#rows.indexed?.(moved) } } },
    ]);
  }

  async close(row: Row): Promise<void> {
    const { client, table, pacing } = this.#tools;
    await writeConditionally(pacing, () =>
      client.send(new DeleteCommand({ TableName: table, Key: this.#rows.keyOf(row) })),
    );
  }
}
