import type { OperationId, OwnerToken } from '../../kernel/ids.ts';
import { type ConditionalWrite, type PostgresTools, readRows, writeIf, writeRows } from '../../postgres/attempts.ts';
import type { Statement } from '../../postgres/database.ts';
import { timestamp } from '../../postgres/values.ts';
import { type CompletedRecord, earlierOwners, type IdempotencyRecord, type OpenRecord } from '../domain/idempotency.ts';
import type { ClaimOutcome, CommitOutcome, RecordStore, Takeover, TakeoverOutcome } from '../use/record-store.ts';
import { rounds } from '../use/rounds.ts';
import { parseRecordRow, selectRecord } from './postgres-record-rows.ts';
import { RELEASED_MS } from './record-items.ts';

/** False after a takeover or a completion. */
const HELD_BY_OWNER = `operation_id = $1 AND owner = $2 AND status = 'INPROGRESS'`;

/** Each kind of operation adds its own claim and commit. */
export class PostgresRecords implements RecordStore {
  protected readonly tools: PostgresTools;

  constructor(tools: PostgresTools) {
    this.tools = tools;
  }

  /**
   * The statement inserts the record and returns a row, or returns no row if the operation already has a record.
   *
   * @returns `taken` when another row of the statement violates a unique constraint, for example the position in a
   * chain
   * @throws RetryableError `contention` when an existing record blocks the insert, but is deleted before it is read, in
   * every round
   */
  protected claimBy(
    statement: Statement,
    record: OpenRecord,
  ): Promise<Exclude<ClaimOutcome, { kind: 'transition_exists' }> | Extract<ConditionalWrite, { kind: 'taken' }>> {
    return rounds('this key', async () => {
      const written = await writeIf(this.tools, statement);
      if (written.kind === 'applied') return { kind: 'claimed' };
      if (written.kind === 'taken') return written;
      const found = await this.readRecord(record.operationId);
      // The record was deleted between the two statements.
      if (found === undefined) return 'again';
      // If the record is this call's own, its first attempt was applied and the response was lost.
      return found.owner === record.owner ? { kind: 'claimed' } : { kind: 'record_exists', record: found };
    });
  }

  /** The statement completes the record and returns a row only if the owner holds the claim. */
  protected async commitBy(statement: Statement, record: CompletedRecord): Promise<CommitOutcome> {
    const written = await writeIf(this.tools, statement);
    if (written.kind === 'applied') return { kind: 'committed' };
    if (written.kind === 'taken') return { kind: 'transition_exists' };
    const existing = await this.readRecord(record.operationId);
    if (existing?.status === 'COMPLETED' && existing.owner === record.owner) return { kind: 'committed' };
    return { kind: 'fenced', record: existing };
  }

  async takeOver({ stale, owner, leaseExpiresAtMs }: Takeover): Promise<TakeoverOutcome> {
    const nowMs = this.tools.pacing.clock.nowMs();
    const { operationId } = stale;
    const taken = await writeRows(this.tools, {
      name: 'record-take-over',
      text: `UPDATE idempotency
        SET owner = $3, lease_expires_at = $4, due_at = $4, released = false, changed_at = $5, earlier = $6
        WHERE ${HELD_BY_OWNER} RETURNING operation_id`,
      values: [
        operationId,
        stale.owner,
        owner,
        timestamp(leaseExpiresAtMs),
        timestamp(nowMs),
        JSON.stringify(earlierOwners(stale, nowMs)),
      ],
    });
    if (taken.length > 0) return { kind: 'taken' };
    const record = await this.readRecord(operationId);
    return record?.owner === owner ? { kind: 'taken' } : { kind: 'changed', record };
  }

  async release(operationId: OperationId, owner: OwnerToken): Promise<void> {
    await writeRows(this.tools, {
      name: 'record-release',
      text: `UPDATE idempotency
        SET lease_expires_at = $3, released = true, changed_at = $4,
          due_at = claimed_at + $5::integer * interval '1 millisecond'
        WHERE ${HELD_BY_OWNER}`,
      values: [operationId, owner, timestamp(0), timestamp(this.tools.pacing.clock.nowMs()), RELEASED_MS],
    });
  }

  async readRecord(operationId: OperationId): Promise<IdempotencyRecord | undefined> {
    const [row] = await readRows(this.tools, selectRecord(operationId));
    return row === undefined ? undefined : parseRecordRow(row);
  }
}
