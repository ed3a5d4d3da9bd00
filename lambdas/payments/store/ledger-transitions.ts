import { DescribeTableCommand } from '@aws-sdk/client-dynamodb';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { GetCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { INDEX_SHARDS, KeyAttribute, LedgerTable } from '../../kernel/contract/tables.ts';
import type { PaymentId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import { type Pacing, readWithRetries } from '../../kernel/platform/attempts.ts';
import { type Item } from '../../kernel/platform/items.ts';
import type { Transition } from '../domain/transition.ts';
import type { LedgerAge, OutcomePlace, RecentOutcomes, TransitionReader } from '../use/transition-reader.ts';
import { parseTransition, paymentPartition, transitionSort } from './items.ts';

/** The index projects keys only, about 100 bytes each. A page of 1 MB holds 10,000, more than a shard has in a minute. */
const MAX_PAGES = 10;

/** The clock of the writer of the first outcomes may have been slow by this much. Milliseconds. */
const SKEW_MS = 15 * 60_000;

const { name: INDEX, partitionKey, sortKey } = LedgerTable.recentOutcomesIndex;
const placeItem = z.object({ [sortKey]: z.string().regex(/^\d+#pay_[a-z2-7]{32}#\d+$/) });

/** Reads a single transition, and lists the outcomes of a minute. */
export class LedgerTransitions implements TransitionReader, RecentOutcomes, LedgerAge {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;
  readonly #pacing: Pacing;
  /** Cached: the creation time of a table does not change. */
  #emptyBeforeMs: number | undefined;

  constructor(client: DynamoDBDocumentClient, table: string, pacing: Pacing) {
    this.#client = client;
    this.#table = table;
    this.#pacing = pacing;
  }

  async readTransition({ paymentId, sequence }: OutcomePlace): Promise<Transition | undefined> {
    const key = {
      [KeyAttribute.partition]: paymentPartition(paymentId),
      [KeyAttribute.sort]: transitionSort(sequence),
    };
    const output = await readWithRetries(this.#pacing, () =>
      this.#client.send(new GetCommand({ TableName: this.#table, Key: key, ConsistentRead: true })),
    );
    return output.Item === undefined ? undefined : parseTransition(output.Item);
  }

  async outcomesOfMinute(minuteMs: number): Promise<readonly OutcomePlace[]> {
    const minute = new Date(minuteMs).toISOString().slice(0, 'yyyy-mm-ddThh:mm'.length);
    const shards = Array.from({ length: INDEX_SHARDS }, (_, shard) => shard);
    return (await Promise.all(shards.map((shard) => this.#bucket(`${shard}#${minute}`)))).flat();
  }

  /**
   * The creation time of the table, less the clock skew. A table restored from a backup holds rows older than its
   * creation, so the result is 0. Unix milliseconds.
   */
  async emptyBeforeMs(): Promise<number> {
    if (this.#emptyBeforeMs !== undefined) return this.#emptyBeforeMs;
    const { Table } = await readWithRetries(this.#pacing, () =>
      this.#client.send(new DescribeTableCommand({ TableName: this.#table })),
    );
    const isRestored = Table?.RestoreSummary !== undefined;
    const madeAtMs = isRestored ? undefined : Table?.CreationDateTime?.getTime();
    this.#emptyBeforeMs = madeAtMs === undefined ? 0 : Math.max(0, madeAtMs - SKEW_MS);
    return this.#emptyBeforeMs;
  }

  async #bucket(bucket: string): Promise<readonly OutcomePlace[]> {
    const found: OutcomePlace[] = [];
    let from: Item | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const output = await readWithRetries(this.#pacing, () =>
        this.#client.send(
          new QueryCommand({
            TableName: this.#table,
            IndexName: INDEX,
            KeyConditionExpression: '#bucket = :bucket',
            ExpressionAttributeNames: { '#bucket': partitionKey },
            ExpressionAttributeValues: { ':bucket': bucket },
            ...(from === undefined ? {} : { ExclusiveStartKey: from }),
          }),
        ),
      );
      found.push(...(output.Items ?? []).map(placeOf));
      from = output.LastEvaluatedKey;
      if (from === undefined) return found;
    }
    invariant(false, `the index bucket ${bucket} has more than ${MAX_PAGES} pages`);
  }
}

function placeOf(item: Item): OutcomePlace {
  const [, paymentId = '', sequence] = placeItem.parse(item)[sortKey].split('#');
  return { paymentId: paymentId as PaymentId, sequence: Number(sequence) };
}
