import type { OperationId, OwnerToken } from '../../kernel/ids.ts';
import { type PostgresTools, readRows, writeRows } from '../../postgres/attempts.ts';
import { timestamp } from '../../postgres/values.ts';
import { earlierOwners, type IdempotencyRecord } from '../domain/idempotency.ts';
import type { RecordStore, Takeover, TakeoverOutcome } from '../use/record-store.ts';
import { parseRecordRow, selectRecord } from './postgres-record-rows.ts';
import { RELEASED_MS } from './record-items.ts';

/** The condition that fences an owner: it fails after a takeover. */
const HELD_BY_OWNER = `operation_id = $1 AND owner = $2 AND status = 'INPROGRESS'`;

/** Stores the records of claimed operations. Each kind of operation adds its own claim and commit. */
export class PostgresRecords implements RecordStore {
  protected readonly tools: PostgresTools;

  constructor(tools: PostgresTools) {
    this.tools = tools;
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
    // The record is this call's own if an earlier attempt was applied but its response was lost.
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
