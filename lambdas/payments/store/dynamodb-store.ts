import type { DynamoDBDocumentClient, QueryCommandOutput } from '@aws-sdk/lib-dynamodb';
import { BatchGetCommand, GetCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import { defined } from '../../kernel/defined.ts';
import { RetryableError } from '../../kernel/faults.ts';
import type { OperationId, PaymentId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { Pacing, WriteResult } from '../../kernel/platform/attempts.ts';
import { readWithRetries } from '../../kernel/platform/attempts.ts';
import type { Item } from '../../kernel/platform/items.ts';
import type { IdempotencyRecord } from '../../once/domain/idempotency.ts';
import type { DetailsTools } from '../../once/store/details-rows.ts';
import { DynamoDbRecords, existingRecord } from '../../once/store/dynamodb-records.ts';
import { parseRecord } from '../../once/store/record-items.ts';
import { claimItem, completionItem } from '../../once/store/record-writes.ts';
import type { StoreTables, TransactItem } from '../../once/store/transact-items.ts';
import { isRefused, itemOf, ROW_IS_NEW, transactOnce } from '../../once/store/transact-items.ts';
import type { CommitOutcome } from '../../once/use/record-store.ts';
import type { Transition } from '../domain/transition.ts';
import type {
  Claim,
  ClaimOutcome,
  Commit,
  PaymentEnds,
  PaymentHistory,
  PaymentStore,
  TransitionPage,
} from '../use/payment-store.ts';
import {
  appendItem,
  detailsPuts,
  parseReferenceHolder,
  parseTransition,
  paymentPartition,
  referenceRowKey,
  transitionSort,
  transitionsWithDetails,
  transitionWithDetails,
} from './items.ts';
import { readEnds } from './payment-ends.ts';
import { holdItem, inquiryItem, returnItem } from './queue-items.ts';

/**
 * Number of newest transitions that are read at once. With at most about 4 KB in total, they cost no more than the
 * newest one alone: a read unit covers 4 KB.
 */
const NEWEST = 4;

/** Stores payments with two durable writes, each a single `TransactWriteItems`. All reads are strongly consistent. */
export class DynamoDbStore extends DynamoDbRecords implements PaymentStore {
  readonly #client: DynamoDBDocumentClient;
  readonly #tables: StoreTables;
  readonly #pacing: Pacing;

  constructor(client: DynamoDBDocumentClient, tables: StoreTables, pacing: Pacing) {
    super(client, tables, pacing);
    this.#client = client;
    this.#tables = tables;
    this.#pacing = pacing;
  }

  /**
   * Writes the claim. If two first attempts are concurrent, the second finds the record of the first.
   *
   *   A ── claim ✓ ────────────
   *   B ────── claim ✗ record of A
   */
  async claim(claim: Claim): Promise<ClaimOutcome> {
    const { record, pending, reference } = claim;
    const written = await this.#transact(this.#claimItems(claim), async () => {
      const rival = await this.readRecord(record.operationId);
      return rival === undefined || rival.owner === record.owner ? undefined : rival;
    });
    if (written.kind === 'applied') return { kind: 'claimed' };
    if (written.kind === 'early') return { kind: 'record_exists', record: written.result };

    const [recordReason, ...others] = written.reasons;
    const existing = itemOf(recordReason);
    if (existing !== undefined) {
      const found = parseRecord(existing);
      // If the record is this call's own, its first attempt was applied and the response was lost.
      return found.owner === record.owner ? { kind: 'claimed' } : { kind: 'record_exists', record: found };
    }
    if (pending !== undefined && isRefused(others.shift())) return { kind: 'transition_exists' };
    const holder = itemOf(others[0]);
    if (holder !== undefined) return { kind: 'reference_taken', paymentId: parseReferenceHolder(holder) };
    // With a reference, the row that the claim replaces is missing, although reference rows are never deleted.
    invariant(reference === undefined, 'the failed condition on the reference returned no row');
    throw new Error('the claim transaction was canceled, but none of its conditions failed');
  }

  /**
   * Writes the stored response and the outcome, if the owner still holds the claim. For the timelines, see
   * `executeOnce`.
   */
  async commit({ record, expects, transition, toReturn = [], hold, inquiries = [] }: Commit): Promise<CommitOutcome> {
    const items: TransactItem[] = [completionItem(this.#tables, record, expects)];
    if (transition !== undefined) items.push(appendItem(this.#tables, transition));
    items.push(...toReturn.map((charge) => returnItem(this.#tables, charge)));
    if (hold !== undefined) items.push(holdItem(this.#tables, hold));
    items.push(...inquiries.map((inquiry) => inquiryItem(this.#tables, inquiry)));
    const written = await this.#transact(items);
    if (written.kind === 'applied') return { kind: 'committed' };

    const existing = existingRecord(written);
    if (existing?.status === 'COMPLETED' && existing.owner === record.owner) return { kind: 'committed' };
    const [recordReason] = written.kind === 'refused' ? written.reasons : [];
    if (isRefused(recordReason)) return { kind: 'fenced', record: existing };
    return { kind: 'transition_exists' };
  }

  async readPayment(paymentId: PaymentId): Promise<PaymentHistory | undefined> {
    const newestRows = await this.#query(paymentId, { newestFirst: true, limit: 1, afterSequence: 0 });
    const [newest] = await transitionsWithDetails(this.#details, newestRows);
    if (newest === undefined) return undefined;
    if (newest.sequence === 1) return { first: newest, newest };
    const first = await this.#get(this.#tables.ledger, {
      [KeyAttribute.partition]: paymentPartition(paymentId),
      [KeyAttribute.sort]: transitionSort(1),
    });
    invariant(first !== undefined, 'a payment with transitions has no first transition');
    return { first: await transitionWithDetails(this.#details, parseTransition(first)), newest };
  }

  async readEnds(paymentId: PaymentId, operationId: OperationId): Promise<PaymentEnds | undefined> {
    return readEnds(
      {
        newest: () => this.#query(paymentId, { newestFirst: true, limit: NEWEST, afterSequence: 0 }),
        at: (sequences) => this.#readRows(paymentId, sequences),
      },
      operationId,
    );
  }

  async readNotes(first: Transition): Promise<Transition> {
    return transitionWithDetails(this.#details, first);
  }

  async listTransitions(paymentId: PaymentId, page: TransitionPage): Promise<readonly Transition[]> {
    return transitionsWithDetails(this.#details, await this.#query(paymentId, { newestFirst: false, ...page }));
  }

  #claimItems({ record, pending, reference }: Claim): TransactItem[] {
    const items: TransactItem[] = [claimItem(this.#tables, record)];
    if (pending !== undefined) items.push(appendItem(this.#tables, pending));
    if (reference !== undefined) {
      const replaces = reference.replaces;
      items.push({
        Put: {
          TableName: this.#tables.registry,
          Item: { ...referenceRowKey(reference.name), paymentId: record.paymentId },
          ConditionExpression: replaces === undefined ? ROW_IS_NEW : 'paymentId = :holder',
          ...(replaces === undefined ? {} : { ExpressionAttributeValues: { ':holder': replaces } }),
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        },
      });
    }
    if (pending !== undefined) items.push(...detailsPuts(this.#tables, pending));
    return items;
  }

  async #transact(
    items: TransactItem[],
    onConflict?: () => Promise<IdempotencyRecord | undefined>,
  ): Promise<WriteResult<IdempotencyRecord>> {
    return transactOnce(this.#client, this.#pacing, items, onConflict);
  }

  async #get(table: string, key: Item): Promise<Item | undefined> {
    const output = await readWithRetries(this.#pacing, () =>
      this.#client.send(new GetCommand({ TableName: table, Key: key, ConsistentRead: true })),
    );
    return output.Item;
  }

  async #query(
    paymentId: PaymentId,
    page: TransitionPage & { readonly newestFirst: boolean },
  ): Promise<readonly Transition[]> {
    const found: Transition[] = [];
    let from: Item | undefined;
    // A page can also end because of DynamoDB's limit of 1 MB.
    do {
      const output: QueryCommandOutput = await readWithRetries(this.#pacing, () =>
        this.#client.send(
          new QueryCommand({
            TableName: this.#tables.ledger,
            KeyConditionExpression: '#pk = :pk AND #sk > :after',
            ExpressionAttributeNames: { '#pk': KeyAttribute.partition, '#sk': KeyAttribute.sort },
            ExpressionAttributeValues: {
              ':pk': paymentPartition(paymentId),
              ':after': transitionSort(page.afterSequence),
            },
            ConsistentRead: true,
            ScanIndexForward: !page.newestFirst,
            Limit: page.limit - found.length,
            ...defined({ ExclusiveStartKey: from }),
          }),
        ),
      );
      found.push(...(output.Items ?? []).map(parseTransition));
      from = output.LastEvaluatedKey;
    } while (from !== undefined && found.length < page.limit);
    return found;
  }

  async #readRows(paymentId: PaymentId, sequences: readonly number[]): Promise<readonly Transition[]> {
    const { ledger } = this.#tables;
    const Keys = sequences.map((sequence) => ({
      [KeyAttribute.partition]: paymentPartition(paymentId),
      [KeyAttribute.sort]: transitionSort(sequence),
    }));
    const input = { RequestItems: { [ledger]: { Keys, ConsistentRead: true } } };
    const rows = await readWithRetries(this.#pacing, async () => {
      const { Responses, UnprocessedKeys } = await this.#client.send(new BatchGetCommand(input));
      if (Object.keys(UnprocessedKeys ?? {}).length === 0) return Responses?.[ledger] ?? [];
      throw new RetryableError('store_throttled', 'the Ledger returned only some of the requested rows');
    });
    return rows.map(parseTransition);
  }

  get #details(): DetailsTools {
    return { client: this.#client, registry: this.#tables.registry, pacing: this.#pacing };
  }
}
