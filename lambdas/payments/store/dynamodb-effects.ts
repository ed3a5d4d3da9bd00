import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { GetCommand, PutCommand, type PutCommandInput } from '@aws-sdk/lib-dynamodb';
import { DynamoDbActivity } from '../../activity/store/dynamodb-activity.ts';
import { KeyAttribute, RegistryTable } from '../../kernel/contract/tables.ts';
import type { OperationId, PaymentId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { Due } from '../../kernel/looks.ts';
import { type Pacing, readWithRetries, writeConditionally } from '../../kernel/platform/attempts.ts';
import type { Item } from '../../kernel/platform/items.ts';
import {
  type Condition,
  failOnUnreadable,
  type QueueTools,
  readDue,
  setAttributes,
  type Unreadable,
} from '../../kernel/platform/queue-rows.ts';
import type { EffectRecord } from '../../once/domain/idempotency.ts';
import { effectRecordItem, parseEffectRecord, recordKey } from '../../once/store/record-items.ts';
import type { StoreTables, TransactItem } from '../../once/store/transact-items.ts';
import { isRefused, itemOf, RECORD_IS_NEW, ROW_IS_NEW, transactOnce } from '../../once/store/transact-items.ts';
import { rounds } from '../../once/use/rounds.ts';
import type { Transition } from '../domain/transition.ts';
import type { Effect, EffectOutcome, EffectStore, OrphanedCallback } from '../use/effect-store.ts';
import type { PaymentStore, TransitionPage } from '../use/payment-store.ts';
import type { OrphanStore } from '../use/unfinished-work.ts';
import { appendItem, detailsPuts } from './items.ts';
import {
  FOREIGN_ORPHANS,
  holdItem,
  inquiryItem,
  keptOrphanKey,
  keptOrphanRow,
  ORPHANS,
  openOrderRow,
  orphanQueued,
  returnItem,
  waitingOrphanKey,
  waitingOrphanRow,
} from './queue-items.ts';

/** Returns the condition that a queue entry has not changed: every write changes one of the attributes below. */
function isUnchangedEntry(entry: Item): Condition {
  const { partitionKey, sortKey } = RegistryTable.queuesIndex;
  const named = ['claimedAtMs', 'foundAtMs', 'seen', partitionKey, sortKey].map((name, at) => ({ name, at }));
  const known = named.filter(({ name }) => entry[name] !== undefined);
  const parts = named.map(({ name, at }) =>
    entry[name] === undefined ? `attribute_not_exists(#a${at})` : `#a${at} = :a${at}`,
  );
  return {
    ConditionExpression: parts.join(' AND '),
    ExpressionAttributeNames: Object.fromEntries(named.map(({ name, at }) => [`#a${at}`, name])),
    ExpressionAttributeValues: Object.fromEntries(known.map(({ name, at }) => [`:a${at}`, entry[name]])),
  };
}

const ROW_EXISTS = {
  ConditionExpression: 'attribute_exists(#pk)',
  ExpressionAttributeNames: { '#pk': KeyAttribute.partition },
};

/** Each effect is one durable write. */
export class DynamoDbEffects implements EffectStore, OrphanStore {
  readonly #client: DynamoDBDocumentClient;
  readonly #tables: StoreTables;
  readonly #pacing: Pacing;
  readonly #transitions: Pick<PaymentStore, 'listTransitions'>;
  readonly #queues: QueueTools;
  readonly #activity: DynamoDbActivity;

  constructor(
    client: DynamoDBDocumentClient,
    tables: StoreTables,
    pacing: Pacing,
    transitions: Pick<PaymentStore, 'listTransitions'>,
    unreadable: Unreadable = failOnUnreadable,
  ) {
    this.#client = client;
    this.#tables = tables;
    this.#pacing = pacing;
    this.#transitions = transitions;
    this.#queues = { client, table: tables.registry, pacing, unreadable };
    this.#activity = new DynamoDbActivity(client, tables, pacing);
  }

  /**
   * Writes an effect and its record without a claim. If two deliveries of one callback race, both decide on the same
   * transition, and the second transaction finds the record of the first.
   *
   *   A ── read ── decide T3 ── record ✓ T3 ✓
   *   B ──── read ── decide T3 ──── record ✗: recorded before
   *
   * If two callbacks that report the same fact race, the second transaction finds that its position in the chain is
   * taken. It then reads the chain again, and has nothing to add.
   *
   *   A ── read ── decide T3 ── record A ✓ T3 ✓
   *   B ──── read ── decide T3 ──── T3 ✗ ── read ── record B ✓
   */
  async recordEffect(effect: Effect): Promise<EffectOutcome> {
    const { record, activity } = effect;
    const items = [...this.itemsOf(effect), ...(await this.activityItems(activity))];
    const written = await transactOnce(this.#client, this.#pacing, items, async () => {
      const found = await this.readEffect(record.operationId);
      return found === undefined || found.owner === record.owner ? undefined : found;
    });
    if (written.kind === 'applied') return { kind: 'recorded' };
    if (written.kind === 'early') return { kind: 'recorded_before', record: written.result };
    const [recordReason] = written.reasons;
    const existing = itemOf(recordReason);
    if (existing === undefined || !isRefused(recordReason)) return { kind: 'transition_exists' };
    const found = parseEffectRecord(existing);
    // If the record is this call's own, its first attempt was applied and the response was lost.
    return found.owner === record.owner ? { kind: 'recorded' } : { kind: 'recorded_before', record: found };
  }

  async readEffect(operationId: OperationId): Promise<EffectRecord | undefined> {
    const output = await readWithRetries(this.#pacing, () =>
      this.#client.send(
        new GetCommand({ TableName: this.#tables.idempotency, Key: recordKey(operationId), ConsistentRead: true }),
      ),
    );
    return output.Item === undefined ? undefined : parseEffectRecord(output.Item);
  }

  async queueOrNote({ toReturn, inquiries }: Parameters<EffectStore['queueOrNote']>[0]): Promise<void> {
    const entries = [
      ...toReturn.map((charge) => returnItem(this.#tables, charge)),
      ...inquiries.map((inquiry) => inquiryItem(this.#tables, inquiry)),
    ];
    for (const { Put } of entries) {
      invariant(Put?.Item !== undefined, 'the write of a queue entry is not a put');
      const { Item } = Put;
      await rounds('this queue entry', () => this.#queueOrNote(Item));
    }
  }

  /** @returns `again` when a rival has changed the existing entry */
  async #queueOrNote(entry: Item): Promise<true | 'again'> {
    const added = await this.#put({ Item: entry, ConditionExpression: ROW_IS_NEW });
    const there = added.kind === 'refused' ? itemOf(added.reasons[0]) : undefined;
    if (there === undefined) return true;
    const seen = Number(there['seen'] ?? 0) + 1;
    const noted = await this.#put({ Item: { ...there, seen }, ...isUnchangedEntry(there) });
    return noted.kind === 'refused' ? 'again' : true;
  }

  #put(put: Omit<PutCommandInput, 'TableName'>) {
    const command = new PutCommand({
      TableName: this.#tables.registry,
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      ...put,
    });
    return writeConditionally(this.#pacing, () => this.#client.send(command));
  }

  async listTransitions(paymentId: PaymentId, page: TransitionPage): Promise<readonly Transition[]> {
    return this.#transitions.listTransitions(paymentId, page);
  }

  async waiting(kind: 'own' | 'foreign', due: Due): Promise<readonly OrphanedCallback[]> {
    return readDue(this.#queues, kind === 'own' ? ORPHANS : FOREIGN_ORPHANS, due);
  }

  async postponeOrphan(orphan: OrphanedCallback, dueAtMs: number): Promise<void> {
    const { isForeign = false } = orphan;
    const now = { isForeign, ...orphanQueued(orphan, dueAtMs) };
    await setAttributes(this.#queues, waitingOrphanKey(orphan), now, ROW_EXISTS);
  }

  /** Has no effect on an orphan that was adopted: the index can still list such an orphan for a short time. */
  async giveUp(orphan: OrphanedCallback): Promise<void> {
    const { registry } = this.#tables;
    await transactOnce(this.#client, this.#pacing, [
      { Put: { TableName: registry, Item: keptOrphanRow(orphan) } },
      { Delete: { TableName: registry, Key: waitingOrphanKey(orphan), ...ROW_EXISTS } },
    ]);
  }

  protected activityItems(activity: Effect['activity']): Promise<TransactItem[]> {
    return this.#activity.itemsFor(activity);
  }

  protected itemsOf({
    record,
    transitions,
    orphan,
    adopted,
    dismissed,
    toReturn = [],
    inquiries = [],
    hold,
    reopened,
  }: Effect): TransactItem[] {
    const { idempotency, registry } = this.#tables;
    const items: TransactItem[] = [
      {
        Put: {
          TableName: idempotency,
          Item: effectRecordItem(record),
          ConditionExpression: RECORD_IS_NEW,
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        },
      },
      ...transitions.map((transition) => appendItem(this.#tables, transition)),
      ...transitions.flatMap((transition) => detailsPuts(this.#tables, transition)),
      ...toReturn.map((charge) => returnItem(this.#tables, charge)),
      ...inquiries.map((inquiry) => inquiryItem(this.#tables, inquiry)),
    ];
    if (hold !== undefined) items.push(holdItem(this.#tables, hold));
    if (orphan !== undefined) {
      items.push({ Put: { TableName: registry, Item: waitingOrphanRow(orphan) } });
    }
    if (reopened !== undefined) items.push({ Put: { TableName: registry, Item: openOrderRow(reopened) } });
    if (adopted !== undefined) items.push({ Delete: { TableName: registry, Key: waitingOrphanKey(adopted) } });
    if (dismissed !== undefined) {
      items.push({ Delete: { TableName: registry, Key: keptOrphanKey(dismissed), ...ROW_EXISTS } });
    }
    return items;
  }
}
