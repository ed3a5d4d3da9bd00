import { DescribeTableCommand } from '@aws-sdk/client-dynamodb';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { GetCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { INDEX_SHARDS, KeyAttribute, LedgerTable } from '../../kernel/contract/tables.ts';
import { type ChainId, isOrderId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import { type Pacing, readWithRetries } from '../../kernel/platform/attempts.ts';
import { type Item } from '../../kernel/platform/items.ts';
import type { DetailsTools } from '../../once/store/details-rows.ts';
import type { StoreTables } from '../../once/store/transact-items.ts';
import type { OutcomePlace, Transition, TransitionPlace } from '../domain/transition.ts';
import type { LedgerAge, RecentOutcomes, TransitionReader } from '../use/transition-reader.ts';
import { parseTransition, paymentPartition, transitionSort, withDetails } from './items.ts';

/** The index projects keys only, about 100 bytes each. A page of 1 MB holds 10,000, more than a shard has in a minute. */
const MAX_PAGES = 10;

/** The clock of the writer of the first outcomes may have been slow by this much. Milliseconds. */
const SKEW_MS = 15 * 60_000;

const { name: INDEX, partitionKey, sortKey } = LedgerTable.recentOutcomesIndex;
const placeItem = z.object({ [sortKey]: z.string().regex(/^\d+#(?:pay|ord)_[a-z2-7]{32}#\d+$/) });

/** Reads a single transition, and lists the outcomes of a minute. */
export class LedgerTransitions implements TransitionReader, RecentOutcomes, LedgerAge {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;
  readonly #registry: string;
  readonly #pacing: Pacing;
  /** Cached: the creation time of a table does not change. */
  #emptyBeforeMs: number | undefined;

  constructor(client: DynamoDBDocumentClient, tables: Pick<StoreTables, 'ledger' | 'registry'>, pacing: Pacing) {
    this.#client = client;
    this.#table = tables.ledger;
    this.#registry = tables.registry;
    this.#pacing = pacing;
  }

  async readTransition({ paymentId, sequence }: TransitionPlace): Promise<Transition | undefined> {
    const item = await this.readRow(paymentPartition(paymentId), sequence);
    return item === undefined ? undefined : withDetails(this.details, parseTransition(item));
  }

  protected get details(): DetailsTools {
    return { client: this.#client, registry: this.#registry, pacing: this.#pacing };
  }

  /** A strongly consistent read of one row of a chain. */
  protected async readRow(partition: string, sequence: number): Promise<Item | undefined> {
    const key = { [KeyAttribute.partition]: partition, [KeyAttribute.sort]: transitionSort(sequence) };
    const output = await readWithRetries(this.#pacing, () =>
      this.#client.send(new GetCommand({ TableName: this.#table, Key: key, ConsistentRead: true })),
    );
    return output.Item;
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
  const [, text = '', digits] = placeItem.parse(item)[sortKey].split('#');
  const id = text as ChainId;
  const sequence = Number(digits);
  return isOrderId(id) ? { orderId: id, sequence } : { paymentId: id, sequence };
}
