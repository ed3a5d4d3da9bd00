import type { OperationId, OwnerToken } from '../../kernel/ids.ts';
import type { CompletedRecord, EffectRecord, OpenRecord } from '../../once/domain/idempotency.ts';
import type { ClaimOutcome, CommitOutcome, ExpectedRecord, RecordStore } from '../../once/use/record-store.ts';

/** A write of the team: an entry of `TransactItems` of DynamoDB's document client, which this module only passes on. */
export type OwnWrite = object;

/**
 * Maximum number of the handler's writes: a DynamoDB transaction has at most 100 items, and one of them is the record.
 */
export const MAX_WRITES = 99;

/** The records of requests, in a table of the team. */
export interface RequestRecords extends RecordStore {
  claim(record: OpenRecord): Promise<Exclude<ClaimOutcome, { kind: 'transition_exists' }>>;
  /**
   * Writes the stored answer and the handler's rows in one transaction. `transition_exists`: a condition of a write
   * does not hold.
   */
  commit(record: CompletedRecord, expects: ExpectedRecord, writes: readonly OwnWrite[]): Promise<CommitOutcome>;
  /** Writes a new lease and the handler's rows in one transaction. `refused`: a condition of a write does not hold. */
  renew(
    operationId: OperationId,
    owner: OwnerToken,
    leaseExpiresAtMs: number,
    writes: readonly OwnWrite[],
  ): Promise<'renewed' | 'fenced' | 'refused'>;
}

/** The records of consumed events, in a table of the team. */
export interface ConsumedRecords {
  readEffect(operationId: OperationId): Promise<EffectRecord | undefined>;
  /** Writes the record and the handler's rows in one transaction. `refused`: a condition of a write does not hold. */
  recordEffect(record: EffectRecord, writes: readonly OwnWrite[]): Promise<'recorded' | 'recorded_before' | 'refused'>;
}
