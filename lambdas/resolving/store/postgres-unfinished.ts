import type { Due } from '../../kernel/looks.ts';
import { failOnUnreadable, type Unreadable } from '../../kernel/platform/queue-rows.ts';
import { isLeased, type OpenRecord } from '../../once/domain/idempotency.ts';
import { parseRecordRow, selectDueRecords } from '../../once/store/postgres-record-rows.ts';
import { type DueTools, readDue, readDueWork, THIS_ENTRY } from '../../payments/store/postgres-due.ts';
import {
  inquiryQueue,
  parseInquiryRow,
  parseReturnRow,
  type WorkKey,
  workKeyOfInquiry,
  workKeyOfReturn,
} from '../../payments/store/postgres-rows.ts';
import type { ChargeToReturn, Inquiry } from '../../payments/use/payment-store.ts';
import type { Postponement, UnfinishedWork } from '../../payments/use/unfinished-work.ts';
import { type PostgresTools, writeRows } from '../../postgres/attempts.ts';
import { timestamp } from '../../postgres/values.ts';

/** Reads and updates the queues of unfinished work: open claims, and the table `work`. */
export class PostgresUnfinishedWork implements UnfinishedWork {
  readonly #tools: DueTools;

  constructor(tools: PostgresTools, unreadable: Unreadable = failOnUnreadable) {
    this.#tools = { ...tools, unreadable };
  }

  async staleClaims({ untilMs, limit }: Due): Promise<readonly OpenRecord[]> {
    const records = await readDue(this.#tools, {
      select: selectDueRecords(untilMs, limit),
      parse: parseRecordRow,
      postpone: ({ operation_id, due_at }, dueAt) => ({
        name: 'record-postpone-unreadable',
        text: 'UPDATE idempotency SET due_at = $3 WHERE operation_id = $1 AND due_at = $2',
        values: [operation_id, timestamp(Number(due_at)), dueAt],
      }),
    });
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
    return readDueWork(this.#tools, ['unknown_outcome'], due, parseInquiryRow);
  }

  async routineInquiries(due: Due): Promise<readonly Inquiry[]> {
    return readDueWork(this.#tools, ['routine_inquiry', 'undecidable'], due, parseInquiryRow);
  }

  async undetermined(limit: number): Promise<readonly Inquiry[]> {
    const due = { untilMs: Number.MAX_SAFE_INTEGER, limit };
    return readDueWork(this.#tools, ['unknown_outcome', 'undecidable'], due, parseInquiryRow);
  }

  async closeInquiry(inquiry: Inquiry): Promise<void> {
    const unchanged = [timestamp(inquiry.claimedAtMs), inquiry.seen ?? 0];
    const text = `DELETE FROM work ${THIS_ENTRY} AND since = $4 AND coalesce(version, 0) = $5`;
    await this.#write('inquiry-close', text, workKeyOfInquiry(inquiry), unchanged);
  }

  async postponeInquiry(inquiry: Inquiry, { dueAtMs, undecidable }: Postponement): Promise<void> {
    const queue = inquiryQueue({ ...inquiry, undecidable });
    const next = [queue, timestamp(dueAtMs), markOf(inquiry, undecidable)];
    const text = `${POSTPONE}, reason = coalesce($8, reason) ${THIS_ENTRY} AND since = $7`;
    const unchanged = timestamp(inquiry.claimedAtMs);
    await this.#write('inquiry-postpone', text, workKeyOfInquiry(inquiry), [
      ...next,
      unchanged,
      inquiry.waitsFor ?? null,
    ]);
  }

  async chargesToReturn(due: Due): Promise<readonly ChargeToReturn[]> {
    return readDueWork(this.#tools, ['return'], due, parseReturnRow);
  }

  /**
   * Deletes the entry if it is unchanged.
   *
   *   resolver  ── read: void ── void ────────────────────────── delete ✗ now a refund
   *   callback                        └─ captured: queue as refund ─┘
   */
  async closeReturn(charge: ChargeToReturn): Promise<void> {
    const unchanged = [timestamp(charge.foundAtMs), charge.by, charge.seen ?? 0];
    const text = `DELETE FROM work ${THIS_ENTRY} AND since = $4 AND reason = $5 AND coalesce(version, 0) = $6`;
    await this.#write('return-close', text, workKeyOfReturn(charge), unchanged);
  }

  async postponeReturn(charge: ChargeToReturn, { dueAtMs, undecidable }: Postponement): Promise<void> {
    const next = ['return', timestamp(dueAtMs), markOf(charge, undecidable)];
    // Do not compare `foundAtMs` (the column `since`): if the run finds that a return has failed, the run itself queues
    // the entry again with a new time.
    const text = `${POSTPONE} ${THIS_ENTRY} AND reason = $7`;
    await this.#write('return-postpone', text, workKeyOfReturn(charge), [...next, charge.by]);
  }

  async #write(name: string, text: string, key: WorkKey, values: readonly unknown[]): Promise<void> {
    await writeRows(this.#tools, { name, text, values: [...keyValues(key), ...values] });
  }
}

const POSTPONE = 'UPDATE work SET queue = $4, due_at = $5, undecidable = coalesce($6, undecidable)';

function keyValues({ kind, chain_id, subject }: WorkKey): readonly string[] {
  return [kind, chain_id, subject];
}

function markOf({ undecidable = false }: { readonly undecidable?: boolean }, now: boolean): boolean | null {
  return undecidable === now ? null : now;
}
