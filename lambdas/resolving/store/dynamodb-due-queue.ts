import { DeleteCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import { dueSort } from '../../kernel/due-sort.ts';
import { readWithRetries, writeConditionally } from '../../kernel/platform/attempts.ts';
import { type DueRows, type QueueTools, setAttributes, unreadableRow } from '../../kernel/platform/queue-rows.ts';

import type { DuePage, DueQueue } from '../use/due-queue.ts';

/** Pattern of a cursor: `<shard>:<sort key of the previous row>`. */
const CURSOR = /^(?<shard>\d+):(?<after>.*)$/s;

/**
 * Reads a queue shard by shard, with the rows of each shard sorted by time. Each page has rows of one shard only; empty
 * shards are skipped.
 */
export class DynamoDbDueQueue<Row> implements DueQueue<Row> {
  readonly #tools: QueueTools;
  readonly #rows: DueRows<Row>;

  constructor(tools: QueueTools, rows: DueRows<Row>) {
    this.#tools = tools;
    this.#rows = rows;
  }

  async dueBefore(
    beforeMs: number,
    { limit, cursor }: Parameters<DueQueue<Row>['dueBefore']>[1],
  ): Promise<DuePage<Row>> {
    const shards = this.#rows.shards();
    let page = await this.#pageOf(beforeMs, limit, cursor);
    // Reads further shards immediately, because an empty page would cost the job more than these queries.
    for (let shard = 1; shard < shards && page.rows.length === 0 && page.next !== undefined; shard += 1) {
      page = await this.#pageOf(beforeMs, limit, page.next);
    }
    return page;
  }

  async #pageOf(beforeMs: number, limit: number, cursor: string | undefined): Promise<DuePage<Row>> {
    const { client, table, pacing, unreadable } = this.#tools;
    const { shard: digit = '0', after = '' } = cursor === undefined ? {} : (CURSOR.exec(cursor)?.groups ?? {});
    const shard = Number(digit);
    // Appending NUL gives the next possible sort key.
    const from = after === '' ? '0' : `${after}\u0000`;
    const before = dueSort(beforeMs, '');
    // Because clocks differ, `beforeMs` can be earlier than the cursor of the previous page. DynamoDB would reject such
    // a range.
    if (from > before) return { rows: [], ...this.#nextShard(shard) };
    const output = await readWithRetries(pacing, () =>
      client.send(
        new QueryCommand({
          TableName: table,
          KeyConditionExpression: '#pk = :pk AND #sk BETWEEN :after AND :before',
          ExpressionAttributeNames: { '#pk': KeyAttribute.partition, '#sk': KeyAttribute.sort },
          ExpressionAttributeValues: { ':pk': this.#rows.partition(shard), ':after': from, ':before': before },
          ConsistentRead: true,
          Limit: limit,
        }),
      ),
    );
    const items = output.Items ?? [];
    const last: unknown = output.LastEvaluatedKey?.[KeyAttribute.sort];
    const next = typeof last === 'string' ? { next: `${shard}:${last}` } : this.#nextShard(shard);
    const rows = items.flatMap((item) => {
      try {
        return [{ row: this.#rows.parse(item), cursor: `${shard}:${String(item[KeyAttribute.sort])}` }];
      } catch (cause) {
        unreadable(unreadableRow(item, cause));
        return [];
      }
    });
    return { rows, ...next };
  }

  async mark(row: Row, undecidable: boolean): Promise<void> {
    const exists = {
      ConditionExpression: 'attribute_exists(#pk)',
      ExpressionAttributeNames: { '#pk': KeyAttribute.partition },
    };
    await setAttributes(this.#tools, this.#rows.keyOf(row), { undecidable }, exists);
  }

  async close(row: Row): Promise<void> {
    const { client, table, pacing } = this.#tools;
    await writeConditionally(pacing, () =>
      client.send(new DeleteCommand({ TableName: table, Key: this.#rows.keyOf(row) })),
    );
  }

  #nextShard(shard: number): { readonly next?: string } {
    return shard + 1 < this.#rows.shards() ? { next: `${shard + 1}:` } : {};
  }
}
