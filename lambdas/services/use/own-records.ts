import type { OperationId, OwnerToken } from '../../kernel/ids.ts';
import type { CompletedRecord, EffectRecord, OpenRecord } from '../../once/domain/idempotency.ts';
import type { ClaimOutcome, CommitOutcome, ExpectedRecord, RecordStore } from '../../once/use/record-store.ts';

/** A write by the team: a `TransactItems` entry of DynamoDB's document client. This module only passes it on. */
export type OwnWrite = object;

/** A DynamoDB transaction has at most 100 items, and one of them is the record. */
export const MAX_WRITES = 99;

export interface RequestRecords extends RecordStore {
  claim(record: OpenRecord): Promise<Exclude<ClaimOutcome, { kind: 'transition_exists' }>>;
  /**
   * Writes the stored response and the handler's rows in one transaction. Returns `transition_exists` if the condition
   * of a write fails.
   */
  commit(record: CompletedRecord, expects: ExpectedRecord, writes: readonly OwnWrite[]): Promise<CommitOutcome>;
  /**
   * Writes a new lease and the handler's rows in one transaction. Returns `refused` if the condition of a write fails.
   */
  renew(
    operationId: OperationId,
    owner: OwnerToken,
    leaseExpiresAtMs: number,
    writes: readonly OwnWrite[],
  ): Promise<'renewed' | 'fenced' | 'refused'>;
}

export interface ConsumedRecords {
  isRecorded(operationId: OperationId): Promise<boolean>;
  /**
   * Writes the record and the handler's rows in one transaction. Returns `refused` if the condition of a write fails.
   */
  recordEffect(record: EffectRecord, writes: readonly OwnWrite[]): Promise<'recorded' | 'recorded_before' | 'refused'>;
}
