import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { QueryCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import { defined } from '../../kernel/defined.ts';
import { type Pacing, readWithRetries } from '../../kernel/platform/attempts.ts';
import { type Item, itemSchema } from '../../kernel/platform/items.ts';
import { systemDigest } from '../../kernel/platform/platform.ts';
import { causeItem } from '../../once/store/cause-item.ts';
import { type DetailsTools, eraseDetailsItems } from '../../once/store/details-rows.ts';
import {
  isRefused,
  ROW_IS_NEW,
  type StoreTables,
  type TransactItem,
  transactOnce,
} from '../../once/store/transact-items.ts';
import { contention, rounds } from '../../once/use/rounds.ts';
import {
  ACTIONS,
  type ActivityChain,
  type ActivityDraft,
  type ActivityEntry,
  type Actor,
  nameOfChain,
  nextEntry,
  settingsId,
} from '../domain/activity.ts';
import type { ActivityLog, ActivityPage } from '../use/activity-log.ts';
import { activityKey, activityPartition, activitySort, BEYOND_ALL } from './activity-keys.ts';

const activityItem = z.lazy(() => {
  const bytes = z.instanceof(Uint8Array);
  const [byRequest, byOperator] = causeItem().options;
  return itemSchema<ActivityEntry>()({
    chain: z.string(),
    sequence: z.int().min(1),
    occurredAtMs: z.int(),
    action: z.enum(ACTIONS),
    actor: z.discriminatedUnion('by', [
      byRequest,
      byOperator,
      itemSchema<Extract<Actor, { by: 'command' }>>()({ by: z.literal('command'), operator: z.string() }),
      itemSchema<Extract<Actor, { by: 'start' }>>()({ by: z.literal('start') }),
    ]),
    about: z.array(z.string()),
    details: z.record(z.string(), z.string()).exactOptional(),
    prevHash: bytes,
    hash: bytes,
  });
});

export function parseActivity(item: Item): ActivityEntry {
  return activityItem.parse(item);
}

/** Only one writer can use a sequence number; the transactions of all other writers are canceled. */
function activityPut(ledgerTable: string, entry: ActivityEntry): TransactItem {
  return { Put: { TableName: ledgerTable, Item: activityRow(entry), ConditionExpression: ROW_IS_NEW } };
}

export function activityRow(entry: ActivityEntry): Item {
  return { ...activityKey(entry.chain, entry.sequence), ...entry };
}

/**
 * Stores the activity log in the Ledger table, which IAM makes append-only. If an action has an effect in the tables,
 * one transaction writes the entry and the effect.
 */
export class DynamoDbActivity implements ActivityLog {
  readonly #client: DynamoDBDocumentClient;
  readonly #ledger: string;
  readonly #pacing: Pacing;

  constructor(client: DynamoDBDocumentClient, { ledger }: Pick<StoreTables, 'ledger'>, pacing: Pacing) {
    this.#client = client;
    this.#ledger = ledger;
    this.#pacing = pacing;
  }

  /**
   * The caller writes the items in the transaction of the action's effect. If a rival's entry takes the sequence number
   * first, the whole transaction is canceled and must be repeated with a new item.
   *
   * @param draft undefined if there is nothing to record; then the result is empty
   */
  async itemsFor(draft: ActivityDraft | undefined): Promise<TransactItem[]> {
    if (draft === undefined) return [];
    return [activityPut(this.#ledger, nextEntry(systemDigest, await this.#newest(draft.chain), draft))];
  }

  /**
   * If the action takes effect outside the tables, call this without a change before the action begins.
   *
   * @returns false when a condition of the change fails; then nothing was written
   * @throws RetryableError `contention` when other writers repeatedly take the next sequence number
   */
  record(draft: ActivityDraft, change: readonly TransactItem[] = []): Promise<boolean> {
    return this.#append(draft, change, () => false);
  }

  /**
   * Unchanged settings are not recorded again.
   * @throws RetryableError `contention` when other writers repeatedly take the next sequence number
   */
  async recordSettings(values: Readonly<Record<string, string>>): Promise<void> {
    const id = settingsId(systemDigest, values);
    const draft: ActivityDraft = {
      chain: 'settings',
      action: 'settings.seen',
      actor: { by: 'start' },
      about: [id],
      details: values,
      occurredAtMs: this.#pacing.clock.nowMs(),
    };
    await this.#append(draft, [], (newest) => newest?.about[0] === id);
  }

  /**
   * Appends an entry. If two writers read the same newest entry, the second transaction is canceled, and its writer
   * reads again:
   *
   *   A ── newest 4 ── change A + entry 5 ✓
   *   B ──── newest 4 ──── change B + entry 5 ✗: neither is written ── newest 5 ── change B + entry 6 ✓
   */
  #append(
    draft: ActivityDraft,
    change: readonly TransactItem[],
    isRecorded: (newest: ActivityEntry | undefined) => boolean,
  ): Promise<boolean> {
    return rounds<boolean>('the activity log', async () => {
      const newest = await this.#newest(draft.chain);
      if (isRecorded(newest)) return true;
      const entry = activityPut(this.#ledger, nextEntry(systemDigest, newest, draft));
      const written = await transactOnce(this.#client, this.#pacing, [...change, entry]);
      if (written.kind !== 'refused') return true;
      return written.reasons.slice(0, change.length).some(isRefused) ? false : 'again';
    });
  }

  async #newest(chain: ActivityChain): Promise<ActivityEntry | undefined> {
    const [newest] = await this.listActivity(chain, { order: 'newest_first', limit: 1 });
    return newest;
  }

  /** A query ends after one megabyte, so a page of large entries takes several queries. */
  async listActivity(chain: ActivityChain, { order, from, limit }: ActivityPage): Promise<readonly ActivityEntry[]> {
    const isAscending = order === 'oldest_first';
    const input = {
      TableName: this.#ledger,
      KeyConditionExpression: `#pk = :pk AND #sk ${isAscending ? '>' : '<'} :from`,
      ExpressionAttributeNames: { '#pk': KeyAttribute.partition, '#sk': KeyAttribute.sort },
      ExpressionAttributeValues: {
        ':pk': activityPartition(nameOfChain(chain)),
        ':from': activitySort(from ?? (isAscending ? 0 : BEYOND_ALL)),
      },
      ScanIndexForward: isAscending,
      ConsistentRead: true,
    };
    const items: Item[] = [];
    let after: Item | undefined;
    // Each query returns at least one item, or is the last query, so `limit` queries suffice.
    for (let queries = 0; queries < limit; queries += 1) {
      const rest = { Limit: limit - items.length, ...defined({ ExclusiveStartKey: after }) };
      const { Items = [], LastEvaluatedKey } = await readWithRetries(this.#pacing, () =>
        this.#client.send(new QueryCommand({ ...input, ...rest })),
      );
      items.push(...Items);
      after = LastEvaluatedKey;
      if (after === undefined || items.length >= limit) break;
    }
    return items.map(parseActivity);
  }
}

/** These transactions erase more than 10,000 rows. */
const MAX_ERASURES = 110;

/**
 * Each batch and its log entry are one transaction.
 *
 * @param draft the log entry; its first id is the id of the payment or the order
 * @returns false when there is no personal data, or it was already erased; then nothing is recorded
 * @throws RetryableError `contention`; a repeated erasure continues
 */
export async function eraseDetails(tools: DetailsTools, log: DynamoDbActivity, draft: ActivityDraft): Promise<boolean> {
  const [id = ''] = draft.about;
  let isErased = false;
  for (let part = 0; part < MAX_ERASURES; part += 1) {
    const deletions = await eraseDetailsItems(tools, id);
    if (deletions.length === 0) return isErased;
    // If a rival has erased one of these rows since they were read, the transaction is canceled, and the next iteration
    // reads the remaining rows.
    if (await log.record(draft, deletions)) isErased = true;
  }
  throw contention(`the details of ${id}`);
}
