import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { GetCommand, QueryCommand, UpdateCommand, type UpdateCommandOutput } from '@aws-sdk/lib-dynamodb';
import type { ActivityDraft } from '../../activity/domain/activity.ts';
import { DynamoDbActivity } from '../../activity/store/dynamodb-activity.ts';
import { IdempotencyTable, KeyAttribute } from '../../kernel/contract/tables.ts';
import type { OperationId } from '../../kernel/ids.ts';
import { type Pacing, readWithRetries, writeConditionally } from '../../kernel/platform/attempts.ts';
import { type Item } from '../../kernel/platform/items.ts';
import type { EffectRecord } from '../../once/domain/idempotency.ts';
import { effectRecordItem, parseEffectRecord, recordKey } from '../../once/store/record-items.ts';
import type { StoreTables, TransactItem } from '../../once/store/transact-items.ts';
import { isRefused, itemOf, RECORD_IS_NEW, ROW_IS_NEW, transactOnce } from '../../once/store/transact-items.ts';
import { isEnded, type JobRun, type RunId } from '../domain/job-run.ts';
import type { AcceptOutcome, JobLock, JobRunStore, RunsPage } from '../use/job-runs.ts';
import {
  expirySeconds,
  isWriteOf,
  lockAcquisitionId,
  lockKey,
  parseRun,
  runKey,
  runRow,
  runSortKey,
  runsPartition,
  tokenOf,
} from './job-items.ts';

/** A time on the last day that a run-id can contain, in Unix milliseconds. The year in a run-id has four digits. */
const LAST_SECOND_MS = Date.UTC(9999, 11, 31);

export class DynamoDbJobRuns implements JobRunStore {
  readonly #client: DynamoDBDocumentClient;
  readonly #tables: StoreTables;
  readonly #pacing: Pacing;
  readonly #activity: DynamoDbActivity;

  constructor(client: DynamoDBDocumentClient, tables: StoreTables, pacing: Pacing) {
    this.#client = client;
    this.#tables = tables;
    this.#pacing = pacing;
    this.#activity = new DynamoDbActivity(client, tables, pacing);
  }

  async accept(record: EffectRecord, run: JobRun, activity?: ActivityDraft): Promise<AcceptOutcome> {
    const entry = await this.#activity.itemsFor(activity);
    const whole = await this.#accept(record, [...entry, this.#newRun(run)], entry.length);
    if (whole !== 'run_exists') return whole;
    // A request with a different idempotency key has created the run. Leave the run unchanged, and write only the
    // record for this key and the activity log entry.
    const rest = await this.#accept(record, entry, entry.length);
    return rest === 'run_exists' ? { kind: 'changed' } : rest;
  }

  async #accept(
    record: EffectRecord,
    others: readonly TransactItem[],
    entries: number,
  ): Promise<AcceptOutcome | 'run_exists'> {
    const written = await transactOnce(this.#client, this.#pacing, [this.#newRecord(record), ...others], async () => {
      const found = await this.readAccepted(record.operationId);
      return found === undefined || found.owner === record.owner ? undefined : found;
    });
    if (written.kind === 'applied') return { kind: 'recorded' };
    if (written.kind === 'early') return { kind: 'recorded_before', record: written.result };
    const [reason, ...reasons] = written.reasons;
    const existing = itemOf(reason);
    if (existing === undefined) return reasons.slice(0, entries).some(isRefused) ? { kind: 'changed' } : 'run_exists';
    const found = parseEffectRecord(existing);
    // If this call wrote the record, the write was applied and its response was lost.
    return found.owner === record.owner ? { kind: 'recorded' } : { kind: 'recorded_before', record: found };
  }

  async readAccepted(operationId: OperationId): Promise<EffectRecord | undefined> {
    const found = await this.#get(this.#tables.idempotency, recordKey(operationId));
    return found === undefined ? undefined : parseEffectRecord(found);
  }

  async readRun(jobId: string, runId: RunId): Promise<JobRun | undefined> {
    const found = await this.#get(this.#tables.registry, runKey(jobId, runId));
    const run = found === undefined ? undefined : parseRun(found);
    // The sort key contains only the time from the run-id, so the row may belong to another run-id.
    return run?.runId === runId ? run : undefined;
  }

  /** One query returns a whole page: at most 101 runs of less than 10 KB each. */
  async listRuns(
    jobId: string,
    { limit, fromMs = 0, beforeMs = LAST_SECOND_MS }: RunsPage,
  ): Promise<readonly JobRun[]> {
    // Scheduled times are whole seconds: the last scheduled time before 12:00:00.5 is 12:00:00, and the last one before
    // 12:00:00 is 11:59:59.
    const [first, last] = [Math.ceil(fromMs / 1000) * 1000, (Math.ceil(beforeMs / 1000) - 1) * 1000];
    // DynamoDB rejects a range that ends before it begins.
    if (first > last) return [];
    const { Items } = await readWithRetries(this.#pacing, () =>
      this.#client.send(
        new QueryCommand({
          TableName: this.#tables.registry,
          KeyConditionExpression: '#pk = :pk AND #sk BETWEEN :first AND :last',
          ExpressionAttributeNames: { '#pk': KeyAttribute.partition, '#sk': KeyAttribute.sort },
          ExpressionAttributeValues: {
            ':pk': runsPartition(jobId),
            ':first': runSortKey(jobId, first),
            ':last': runSortKey(jobId, last),
          },
          ScanIndexForward: false,
          Limit: limit,
          ConsistentRead: true,
        }),
      ),
    );
    return (Items ?? []).map(parseRun);
  }

  /**
   * Of two concurrent acquisitions, only the one with the greater token can write. If a response is lost, the retry
   * gets a newer token; nothing was written under the lost token.
   */
  async lock(
    name: string,
    runId: RunId,
    { nowMs, leaseExpiresAtMs }: Parameters<JobRunStore['lock']>[2],
  ): Promise<JobLock | undefined> {
    let answer: UpdateCommandOutput | undefined;
    const command = new UpdateCommand({
      TableName: this.#tables.registry,
      Key: lockKey(name),
      UpdateExpression: 'SET runId = :run, leaseExpiresAtMs = :lease ADD #token :one REMOVE #expiry',
      ConditionExpression: 'attribute_not_exists(#pk) OR runId = :run OR leaseExpiresAtMs <= :now',
      ExpressionAttributeNames: {
        '#pk': KeyAttribute.partition,
        '#token': 'token',
        '#expiry': IdempotencyTable.timeToLiveAttribute,
      },
      ExpressionAttributeValues: { ':run': runId, ':lease': leaseExpiresAtMs, ':now': nowMs, ':one': 1 },
      ReturnValues: 'UPDATED_NEW',
    });
    const written = await writeConditionally(this.#pacing, async () => {
      answer = await this.#client.send(command);
    });
    if (written.kind !== 'applied') return undefined;
    return { name, runId, token: tokenOf(answer?.Attributes), leaseExpiresAtMs };
  }

  /**
   * The transaction fails if another worker has acquired the lock since this worker did:
   *
   *   A ── lock 1 ── … paused …………………… ── run v3 ✓ token 1 ✗: nothing is written
   *   B ──────────────── lock 2 ── run v3 ✓ token 2 ✓
   */
  async save(run: JobRun, lock: JobLock, leaseExpiresAtMs: number): Promise<boolean> {
    const written = await transactOnce(this.#client, this.#pacing, [
      {
        Put: {
          TableName: this.#tables.registry,
          Item: runRow(run, lockAcquisitionId(lock)),
          ConditionExpression: '#version = :was',
          ExpressionAttributeNames: { '#version': 'version' },
          ExpressionAttributeValues: { ':was': run.version - 1 },
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        },
      },
      this.#heldLock(run, lock, leaseExpiresAtMs),
    ]);
    if (written.kind === 'applied') return true;
    const existing = written.kind === 'refused' ? itemOf(written.reasons[0]) : undefined;
    // Return true if this worker wrote the existing row: the write was applied, but its response was lost. If a rival
    // has taken over since, the next write fails.
    return existing !== undefined && isWriteOf(existing, run, lock);
  }

  /**
   * A released lock keeps its token, so that the next token is greater. The row of an unused lock expires together with
   * its last run.
   */
  #heldLock(run: JobRun, lock: JobLock, leaseExpiresAtMs: number): TransactItem {
    const ended = isEnded(run);
    return {
      Update: {
        TableName: this.#tables.registry,
        Key: lockKey(lock.name),
        UpdateExpression: `SET leaseExpiresAtMs = :lease${ended ? ', #expiry = :expiry' : ''}`,
        ConditionExpression: '#token = :token',
        ExpressionAttributeNames: {
          '#token': 'token',
          ...(ended ? { '#expiry': IdempotencyTable.timeToLiveAttribute } : {}),
        },
        ExpressionAttributeValues: {
          ':token': lock.token,
          ':lease': ended ? 0 : leaseExpiresAtMs,
          ...(ended ? { ':expiry': expirySeconds(run.endedAtMs ?? lock.leaseExpiresAtMs) } : {}),
        },
      },
    };
  }

  #newRecord(record: EffectRecord): TransactItem {
    return {
      Put: {
        TableName: this.#tables.idempotency,
        Item: effectRecordItem(record),
        ConditionExpression: RECORD_IS_NEW,
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      },
    };
  }

  #newRun(run: JobRun): TransactItem {
    return { Put: { TableName: this.#tables.registry, Item: runRow(run), ConditionExpression: ROW_IS_NEW } };
  }

  async #get(table: string, key: Item): Promise<Item | undefined> {
    const { Item } = await readWithRetries(this.#pacing, () =>
      this.#client.send(new GetCommand({ TableName: table, Key: key, ConsistentRead: true })),
    );
    return Item;
  }
}
