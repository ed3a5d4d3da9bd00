import { KeyAttribute } from '../../kernel/contract/tables.ts';
import type { Due } from '../../kernel/looks.ts';
import {
  failOnUnreadable,
  readableRows,
  UNREADABLE_AGAIN_MS,
  type Unreadable,
} from '../../kernel/platform/queue-rows.ts';
import { isLeased, type OpenRecord } from '../../once/domain/idempotency.ts';
import { parseRecordRow, selectDueRecords } from '../../once/store/postgres-record-rows.ts';
import {
  inquiryQueue,
  inquiryWork,
  parseInquiryRow,
  parseReturnRow,
  returnWork,
  type WorkKey,
} from '../../payments/store/postgres-rows.ts';
import type { ChargeToReturn, Inquiry } from '../../payments/use/payment-store.ts';
import type { Postponement, UnfinishedWork } from '../../payments/use/unfinished-work.ts';
import { type PostgresTools, readRows, writeRows } from '../../postgres/attempts.ts';
import type { Row, Statement } from '../../postgres/database.ts';
import { timestamp, valuesOf } from '../../postgres/values.ts';

/** Reads and updates the queues of unfinished work: open claims, and the table `work`. */
export class PostgresUnfinishedWork implements UnfinishedWork {
  readonly #tools: PostgresTools;
  readonly #unreadable: Unreadable;

  /** @param unreadable receives rows that cannot be parsed @default the read fails */
  constructor(tools: PostgresTools, unreadable: Unreadable = failOnUnreadable) {
    this.#tools = tools;
    this.#unreadable = unreadable;
  }

  async staleClaims({ untilMs, limit }: Due): Promise<readonly OpenRecord[]> {
    const records = await this.#readDue(
      selectDueRecords(untilMs, limit),
      parseRecordRow,
      ({ operation_id, due_at }) => ({
        name: 'record-postpone-unreadable',
        text: 'UPDATE idempotency SET due_at = $3 WHERE operation_id = $1 AND due_at = $2',
        values: [operation_id, timestamp(Number(due_at)), this.#readAgainAt()],
      }),
    );
    return records.flatMap((record) => (record.status === 'INPROGRESS' && !isLeased(record, untilMs) ? [record] : []));
  }

  async postponeClaim(record: OpenRecord, { dueAtMs, undecidable }: Postponement): Promise<void> {
    await writeRows(this.#tools, {
      name: 'record-postpone',
      text: `UPDATE idempotency SET due_at = $2, undecidable = coalesce($3, undecidable)
        WHERE operation_id = $1 AND status = 'INPROGRESS'`,
      values: [record.operationId, timestamp(dueAtMs), markOf(record, undecidable)],
    });
  }

  async unknownOutcomes(due: Due): Promise<readonly Inquiry[]> {
    return this.#entries(['unknown_outcome'], due, parseInquiryRow);
  }

  async routineInquiries(due: Due): Promise<readonly Inquiry[]> {
    return this.#entries(['routine_inquiry', 'undecidable'], due, parseInquiryRow);
  }

  async undetermined(limit: number): Promise<readonly Inquiry[]> {
    const due = { untilMs: Number.MAX_SAFE_INTEGER, limit };
    return this.#entries(['unknown_outcome', 'undecidable'], due, parseInquiryRow);
  }

  async closeInquiry(inquiry: Inquiry): Promise<void> {
    await this.#write('inquiry-close', `DELETE FROM work ${THIS_ENTRY} AND since = $4`, inquiryWork(inquiry), [
      timestamp(inquiry.claimedAtMs),
    ]);
  }

  async postponeInquiry(inquiry: Inquiry, { dueAtMs, undecidable }: Postponement): Promise<void> {
    const queue = inquiryQueue({ ...inquiry, undecidable });
    const next = [queue, timestamp(dueAtMs), markOf(inquiry, undecidable)];
    await this.#write('inquiry-postpone', `${POSTPONE} ${THIS_ENTRY} AND since = $7`, inquiryWork(inquiry), [
      ...next,
      timestamp(inquiry.claimedAtMs),
    ]);
  }

  async chargesToReturn(due: Due): Promise<readonly ChargeToReturn[]> {
    return this.#entries(['return'], due, parseReturnRow);
  }

  /**
   * Deletes the entry if it is unchanged.
   *
   *   resolver  ── read: void ── void ────────────────────────── delete ✗ now a refund
   *   callback                        └─ captured: queue as refund ─┘
   */
  async closeReturn(charge: ChargeToReturn): Promise<void> {
    const unchanged = [timestamp(charge.foundAtMs), charge.by];
    const text = `DELETE FROM work ${THIS_ENTRY} AND since = $4 AND reason = $5`;
    await this.#write('return-close', text, returnWork(charge), unchanged);
  }

  async postponeReturn(charge: ChargeToReturn, { dueAtMs, undecidable }: Postponement): Promise<void> {
    const next = ['return', timestamp(dueAtMs), markOf(charge, undecidable)];
    // An inquiry that finds a failed return requeues the entry itself.
    const text = `${POSTPONE} ${THIS_ENTRY} AND reason = $7`;
    await this.#write('return-postpone', text, returnWork(charge), [...next, charge.by]);
  }

  async #write(name: string, text: string, key: WorkKey, values: readonly unknown[]): Promise<void> {
    await writeRows(this.#tools, { name, text, values: [...keyValues(key), ...values] });
  }

  async #entries<Entry>(queues: readonly QueueName[], due: Due, parse: (row: Row) => Entry): Promise<readonly Entry[]> {
    const [queue, other = queue] = queues;
    const select = {
      name: 'work-due',
      text: `SELECT kind, chain_id, subject, concerns, due_at, since, reason, undecidable FROM work
        WHERE queue IN ($1, $2) AND due_at <= $3 ORDER BY due_at LIMIT $4`,
      values: [queue, other, timestamp(due.untilMs), due.limit],
    };
    return this.#readDue(select, parse, ({ kind, chain_id, subject, due_at }) => ({
      name: 'work-postpone-unreadable',
      text: `UPDATE work SET due_at = $5 ${THIS_ENTRY} AND due_at = $4`,
      values: [kind, chain_id, subject, timestamp(Number(due_at)), this.#readAgainAt()],
    }));
  }

  /** Reads rows in the order in which they are due. Rows that cannot be parsed are reported, and due again later. */
  async #readDue<Entry>(
    select: Statement,
    parse: (row: Row) => Entry,
    postponeUnreadable: (values: Row) => Statement,
  ): Promise<readonly Entry[]> {
    const entries: Entry[] = [];
    for (const row of await readRows(this.#tools, select)) {
      const { partition, sort } = KeyAttribute;
      const named = { ...row, [partition]: row['chain_id'] ?? row['operation_id'], [sort]: row['subject'] };
      const readable = readableRows([named], parse, this.#unreadable);
      entries.push(...readable);
      if (readable.length === 0) await writeRows(this.#tools, postponeUnreadable(valuesOf(row)));
    }
    return entries;
  }

  #readAgainAt(): string {
    return timestamp(this.#tools.pacing.clock.nowMs() + UNREADABLE_AGAIN_MS);
  }
}

type QueueName = ReturnType<typeof inquiryQueue> | 'return';

const THIS_ENTRY = 'WHERE kind = $1 AND chain_id = $2 AND subject = $3';
const POSTPONE = 'UPDATE work SET queue = $4, due_at = $5, undecidable = coalesce($6, undecidable)';

function keyValues({ kind, chain_id, subject }: WorkKey): readonly string[] {
  return [kind, chain_id, subject];
}

/** Returns the mark of an undecidable entry; null if it does not change. */
function markOf({ undecidable = false }: { readonly undecidable?: boolean }, now: boolean): boolean | null {
  return undecidable === now ? null : now;
}
