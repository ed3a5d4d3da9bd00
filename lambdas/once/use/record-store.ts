import type { OperationId, OwnerToken } from '../../kernel/ids.ts';
import type { IdempotencyRecord, OpenRecord } from '../domain/idempotency.ts';

export interface Takeover {
  /** The takeover fails if a rival has taken over or completed the record since it was read. */
  readonly stale: OpenRecord;
  readonly owner: OwnerToken;
  readonly leaseExpiresAtMs: number;
}

export type TakeoverOutcome =
  | { readonly kind: 'taken' }
  | { readonly kind: 'changed'; readonly record: IdempotencyRecord | undefined };

/** Each kind of operation adds its own claim and commit. */
export interface RecordStore {
  takeOver(takeover: Takeover): Promise<TakeoverOutcome>;
  /**
   * Records that nothing was sent, so that the next attempt begins immediately. Does nothing when another owner holds
   * the claim.
   */
  release(operationId: OperationId, owner: OwnerToken): Promise<void>;
  readRecord(operationId: OperationId): Promise<IdempotencyRecord | undefined>;
}

/** If several apply, the first in this order is returned. */
export type ClaimOutcome =
  | { readonly kind: 'claimed' }
  | { readonly kind: 'record_exists'; readonly record: IdempotencyRecord }
  | { readonly kind: 'transition_exists' };

/** `open`: the record's owner holds the claim. `absent`: the record was deleted while the owner was working. */
export type ExpectedRecord = 'open' | 'absent';

/** In order of precedence. */
export type CommitOutcome =
  | { readonly kind: 'committed' }
  /** Another owner holds or completed the claim, or the record was deleted (`record` is undefined). */
  | { readonly kind: 'fenced'; readonly record: IdempotencyRecord | undefined }
  | { readonly kind: 'transition_exists' };
