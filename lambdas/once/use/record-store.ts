import type { OperationId, OwnerToken } from '../../kernel/ids.ts';
import type { IdempotencyRecord, OpenRecord } from '../domain/idempotency.ts';

export interface Takeover {
  /** The record as it was read: taken over only if no rival did so since. */
  readonly stale: OpenRecord;
  readonly owner: OwnerToken;
  readonly leaseExpiresAtMs: number;
}

export type TakeoverOutcome =
  | { readonly kind: 'taken' }
  | { readonly kind: 'changed'; readonly record: IdempotencyRecord | undefined };

/** The idempotency records of operations that are claimed; each kind of operation adds its own claim and commit. */
export interface RecordStore {
  takeOver(takeover: Takeover): Promise<TakeoverOutcome>;
  /** Says that nothing was sent and lets the next attempt in at once; does nothing when the claim is no longer the owner's. */
  release(operationId: OperationId, owner: OwnerToken): Promise<void>;
  readRecord(operationId: OperationId): Promise<IdempotencyRecord | undefined>;
}

/** What a write that claims came to, in order of precedence: what comes first is reported when several hold. */
export type ClaimOutcome =
  | { readonly kind: 'claimed' }
  | { readonly kind: 'record_exists'; readonly record: IdempotencyRecord }
  | { readonly kind: 'transition_exists' };

/** `open`: the claim is held by the record's owner. `absent`: its record was deleted while the owner was at work. */
export type ExpectedRecord = 'open' | 'absent';

/** What a write that commits came to, in order of precedence. */
export type CommitOutcome =
  | { readonly kind: 'committed' }
  /** Another owner holds or completed the claim; undefined when no record is there. */
  | { readonly kind: 'fenced'; readonly record: IdempotencyRecord | undefined }
  | { readonly kind: 'transition_exists' };
