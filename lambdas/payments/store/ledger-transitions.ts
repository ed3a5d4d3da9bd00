import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { GetCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { KeyAttribute, LedgerTable } from '../../kernel/contract/tables.ts';
import { invariant } from '../../kernel/invariant.ts';
import { type Pacing, readWithRetries } from '../../kernel/platform/attempts.ts';
import { type Item } from '../../kernel/platform/items.ts';
import { eachShard, shardsAt } from '../../kernel/platform/shards.ts';
import type { DetailsTools } from '../../once/store/details-rows.ts';
import type { StoreTables } from '../../once/store/transact-items.ts';
import type { Transition, TransitionPlace } from '../domain/transition.ts';
import { type ChainId, isOrderId } from '../ids.ts';
import {
  type OutcomePage,
  type OutcomePosition,
  positionAt,
  type RecentOutcomes,
  type TransitionReader,
  timeOf,
} from '../use/transition-reader.ts';
import {
  outcomesPartition,
  parseTransition,
  paymentPartition,
  transitionSort,
  transitionWithDetails,
} from './items.ts';

const DAY_MS = 24 * 60 * 60_000;
/** Maximum length of a range of outcomes, in days. A day without outcomes still costs one query for each shard. */
const MAX_DAYS = 31;

const { name: INDEX, partitionKey, sortKey } = LedgerTable.recentOutcomesIndex;
const placeItem = z.object({ [sortKey]: z.string().regex(/^\d+#(?:pay|ord)_[a-z2-7]{32}#\d+$/) });

type Outcome = OutcomePage['outcomes'][number];

/** Result for a day that is not read, because the page is already full. */
const NOT_READ: OutcomePage = { outcomes: [], isLast: false };

export class LedgerTransitions implements TransitionReader, RecentOutcomes {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;
  readonly #registry: string;
  readonly #pacing: Pacing;

  constructor(client: DynamoDBDocumentClient, tables: Pick<StoreTables, 'ledger' | 'registry'>, pacing: Pacing) {
    this.#client = client;
    this.#table = tables.ledger;
    this.#registry = tables.registry;
    this.#pacing = pacing;
  }

  async readTransition({ paymentId, sequence }: TransitionPlace): Promise<Transition | undefined> {
    const item = await this.readRow(paymentPartition(paymentId), sequence);
    return item === undefined ? undefined : transitionWithDetails(this.details, parseTransition(item));
  }

  protected get details(): DetailsTools {
    return { client: this.#client, registry: this.#registry, pacing: this.#pacing };
  }

  protected async readRow(partition: string, sequence: number): Promise<Item | undefined> {
    const key = { [KeyAttribute.partition]: partition, [KeyAttribute.sort]: transitionSort(sequence) };
    const output = await readWithRetries(this.#pacing, () =>
      this.#client.send(new GetCommand({ TableName: this.#table, Key: key, ConsistentRead: true })),
    );
    return output.Item;
  }

  async outcomesAfter(position: OutcomePosition, untilMs: number, limit: number): Promise<OutcomePage> {
    const fromMs = timeOf(position);
    const outcomes: Outcome[] = [];
    if (fromMs >= untilMs) return { outcomes, isLast: true };
    invariant(untilMs - fromMs <= MAX_DAYS * DAY_MS, `the range of outcomes is longer than ${MAX_DAYS} days`);
    for (let dayMs = fromMs - (fromMs % DAY_MS); dayMs < untilMs; dayMs += DAY_MS) {
      const left = limit - outcomes.length;
      const day = left > 0 ? await this.#outcomesOfDay(dayMs, position, untilMs, left) : NOT_READ;
      outcomes.push(...day.outcomes);
      if (!day.isLast) return { outcomes, isLast: false };
    }
    return { outcomes, isLast: true };
  }

  /**
   * Merges the shards of a day. If a shard has more rows than were read, the result ends at the last row that was read
   * from this shard. If there are several such shards, it ends at the earliest of these rows.
   */
  async #outcomesOfDay(dayMs: number, after: OutcomePosition, untilMs: number, limit: number): Promise<OutcomePage> {
    const count = shardsAt(dayMs).outcomes;
    const shards = eachShard(count).map((shard) => outcomesPartition(shard, dayMs));
    // The shards are about equally full, so twice the average share nearly always fills the page. A few extra rows
    // usually cost nothing, because a read unit is 4 KB.
    const share = Math.ceil((2 * limit) / count) + 4;
    const parts = await Promise.all(shards.map((shard) => this.#outcomesOfShard(shard, after, untilMs, share)));
    const [knownTo] = parts.flatMap((part) => (part.isLast ? [] : [part.outcomes.at(-1)?.position ?? after])).sort();
    const known = parts
      .flatMap(({ outcomes }) => outcomes)
      .filter(({ position }) => knownTo === undefined || position <= knownTo)
      .sort((left, right) => (left.position < right.position ? -1 : 1));
    return { outcomes: known.slice(0, limit), isLast: knownTo === undefined && known.length <= limit };
  }

  async #outcomesOfShard(shard: string, after: OutcomePosition, untilMs: number, limit: number): Promise<OutcomePage> {
    const { Items = [], LastEvaluatedKey } = await readWithRetries(this.#pacing, () =>
      this.#client.send(
        new QueryCommand({
          TableName: this.#table,
          IndexName: INDEX,
          KeyConditionExpression: '#shard = :shard AND #order BETWEEN :after AND :until',
          ExpressionAttributeNames: { '#shard': partitionKey, '#order': sortKey },
          // A trailing NUL gives the next possible sort key.
          ExpressionAttributeValues: { ':shard': shard, ':after': `${after}\u0000`, ':until': positionAt(untilMs) },
          Limit: limit,
        }),
      ),
    );
    return { outcomes: Items.map(outcomeOf), isLast: LastEvaluatedKey === undefined };
  }
}

function outcomeOf(item: Item): Outcome {
  const position = placeItem.parse(item)[sortKey];
  const [, text = '', digits] = position.split('#');
  const id = text as ChainId;
  const sequence = Number(digits);
  return { place: isOrderId(id) ? { orderId: id, sequence } : { paymentId: id, sequence }, position };
}
