import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { DeleteCommand } from '@aws-sdk/lib-dynamodb';
import { IdempotencyTable } from '../../kernel/contract/tables.ts';
import { defined } from '../../kernel/defined.ts';
import type { Due } from '../../kernel/looks.ts';
import { type Pacing, writeConditionally } from '../../kernel/platform/attempts.ts';
import type { Item } from '../../kernel/platform/items.ts';
import {
  type Condition,
  failOnUnreadable,
  type QueueTools,
  readDue,
  readPartitions,
  setAttributes,
  type Unreadable,
} from '../../kernel/platform/queue-rows.ts';
import { eachShard, mostShards } from '../../kernel/platform/shards.ts';
import type { OpenRecord } from '../../once/domain/idempotency.ts';
import { isLeased } from '../../once/domain/idempotency.ts';
import { openAttributes, parseRecord, recordKey } from '../../once/store/record-items.ts';
import type { StoreTables } from '../../once/store/transact-items.ts';
import {
  COUNTED_INQUIRIES,
  chargeToReturnKey,
  inquiryKey,
  inquiryQueueAttributes,
  RETURNS,
  ROUTINE_INQUIRIES,
  returnQueued,
  UNKNOWN_OUTCOMES,
} from '../../payments/store/queue-items.ts';
import type { ChargeToReturn, Inquiry } from '../../payments/use/payment-store.ts';
import type { Postponement, UnfinishedWork } from '../../payments/use/unfinished-work.ts';

const { openClaimsIndex, partitionKey: RECORD_KEY } = IdempotencyTable;

const OPEN_CLAIMS = {
  index: openClaimsIndex,
  parse: parseRecord,
  keyOf: (item: Item): Item => ({ [RECORD_KEY]: item[RECORD_KEY] }),
};

const IS_OPEN: Condition = {
  ConditionExpression: '#status = :open',
  ExpressionAttributeNames: { '#status': 'status' },
  ExpressionAttributeValues: { ':open': 'INPROGRESS' },
};

/**
 * Reads and updates the queues of unfinished work: the open-claims index, and the Registry's index of inquiries and
 * returns.
 */
export class DynamoDbUnfinishedWork implements UnfinishedWork {
  readonly #claims: QueueTools;
  readonly #queues: QueueTools;

  constructor(
    client: DynamoDBDocumentClient,
    tables: StoreTables,
    pacing: Pacing,
    unreadable: Unreadable = failOnUnreadable,
  ) {
    this.#claims = { client, table: tables.idempotency, pacing, unreadable };
    this.#queues = { client, table: tables.registry, pacing, unreadable };
  }

  async staleClaims(due: Due): Promise<readonly OpenRecord[]> {
    const records = await readPartitions(
      this.#claims,
      { ...OPEN_CLAIMS, partitions: eachShard(mostShards().claims) },
      due,
    );
    return records.flatMap((record) =>
      record.status === 'INPROGRESS' && !isLeased(record, due.untilMs) ? [record] : [],
    );
  }

  async postponeClaim(record: OpenRecord, { dueAtMs, undecidable }: Postponement): Promise<void> {
    const now = { ...openAttributes({ ...record, undecidable }, dueAtMs), ...markOf(record, undecidable) };
    await setAttributes(this.#claims, recordKey(record.operationId), now, IS_OPEN);
  }

  async unknownOutcomes(due: Due): Promise<readonly Inquiry[]> {
    return readDue(this.#queues, UNKNOWN_OUTCOMES, due);
  }

  async routineInquiries(due: Due): Promise<readonly Inquiry[]> {
    return readDue(this.#queues, ROUTINE_INQUIRIES, due);
  }

  async undetermined(limit: number): Promise<readonly Inquiry[]> {
    return readDue(this.#queues, COUNTED_INQUIRIES, { untilMs: Number.MAX_SAFE_INTEGER, limit });
  }

  async closeInquiry(inquiry: Inquiry): Promise<void> {
    await this.#delete(inquiryKey(inquiry), notSeenSince(inquiry, isUnchanged(inquiry)));
  }

  async postponeInquiry(inquiry: Inquiry, { dueAtMs, undecidable }: Postponement): Promise<void> {
    const queued = inquiryQueueAttributes({ ...inquiry, undecidable }, dueAtMs);
    const now = { ...queued, ...markOf(inquiry, undecidable), ...defined({ waitsFor: inquiry.waitsFor }) };
    await setAttributes(this.#queues, inquiryKey(inquiry), now, isUnchanged(inquiry));
  }

  async chargesToReturn(due: Due): Promise<readonly ChargeToReturn[]> {
    return readDue(this.#queues, RETURNS, due);
  }

  /**
   * Deletes the entry if it has not changed.
   *
   *   resolver  ── read: void ── void ────────────────────────── delete ✗ now a refund
   *   callback                        └─ captured: queue as refund ─┘
   */
  async closeReturn(charge: ChargeToReturn): Promise<void> {
    await this.#delete(chargeToReturnKey(charge), notSeenSince(charge, isUnchangedReturn(charge)));
  }

  async postponeReturn(charge: ChargeToReturn, { dueAtMs, undecidable }: Postponement): Promise<void> {
    const now = { ...returnQueued({ ...charge, undecidable }, dueAtMs), ...markOf(charge, undecidable) };
    await setAttributes(this.#queues, chargeToReturnKey(charge), now, isSameReturn(charge));
  }

  async #delete(key: Item, condition: Condition): Promise<void> {
    const { client, table, pacing } = this.#queues;
    await writeConditionally(pacing, () =>
      client.send(new DeleteCommand({ TableName: table, Key: key, ...condition })),
    );
  }
}

function markOf({ undecidable = false }: { readonly undecidable?: boolean }, now: boolean): Item {
  return undecidable === now ? {} : { undecidable: now };
}

function notSeenSince({ seen }: Pick<Inquiry, 'seen'>, condition: Condition): Condition {
  const { ConditionExpression, ExpressionAttributeNames, ExpressionAttributeValues } = condition;
  const isSame = seen === undefined ? 'attribute_not_exists(#seen)' : '#seen = :seen';
  return {
    ConditionExpression: `${ConditionExpression} AND ${isSame}`,
    ExpressionAttributeNames: { ...ExpressionAttributeNames, '#seen': 'seen' },
    ExpressionAttributeValues: { ...ExpressionAttributeValues, ...(seen === undefined ? {} : { ':seen': seen }) },
  };
}

function isUnchanged({ claimedAtMs }: Inquiry): Condition {
  return {
    ConditionExpression: '#claimedAtMs = :claimedAtMs',
    ExpressionAttributeNames: { '#claimedAtMs': 'claimedAtMs' },
    ExpressionAttributeValues: { ':claimedAtMs': claimedAtMs },
  };
}

/**
 * `foundAtMs` is not compared: if the run finds that a return has failed, the run itself queues the entry again with a
 * new time.
 */
function isSameReturn({ by }: ChargeToReturn): Condition {
  return {
    ConditionExpression: '#by = :by',
    ExpressionAttributeNames: { '#by': 'by' },
    ExpressionAttributeValues: { ':by': by },
  };
}

function isUnchangedReturn({ by, foundAtMs }: ChargeToReturn): Condition {
  return {
    ConditionExpression: '#by = :by AND #foundAtMs = :foundAtMs',
    ExpressionAttributeNames: { '#by': 'by', '#foundAtMs': 'foundAtMs' },
    ExpressionAttributeValues: { ':by': by, ':foundAtMs': foundAtMs },
  };
}
