import { LEASE_SECONDS } from '../../kernel/contract/timing.ts';
import { RetryableError } from '../../kernel/faults.ts';
import type { Fingerprint } from '../../kernel/fingerprint.ts';
import type { OperationId, OwnerToken, PaymentId } from '../../kernel/ids.ts';
import type { Clock, Entropy } from '../../kernel/world.ts';
import type { IdempotencyRecord, OpenRecord } from '../domain/idempotency.ts';
import { judgeRecord, type RepeatOutcome } from './judge-record.ts';
import type { ClaimStep, ReplayCache } from './operation-runner.ts';
import type { RecordStore } from './record-store.ts';

/** What every claim of an idempotency key does alike, whatever is done under it. */

export interface ClaimedKeyTools {
  readonly store: Pick<RecordStore, 'takeOver'>;
  readonly replays: ReplayCache;
  readonly clock: Clock;
  readonly entropy: Entropy;
}

export interface ClaimedKey {
  readonly operationId: OperationId;
  readonly paymentId: PaymentId;
  readonly fingerprint: Fingerprint;
}

/** A record of ours, leased from now. @param claimedAtMs when the key was claimed first: nobody sends later than a quarter of an hour after it */
export function openRecord(
  { operationId, paymentId, fingerprint }: ClaimedKey,
  owner: OwnerToken,
  claimedAtMs: number,
  nowMs: number,
): OpenRecord {
  return {
    status: 'INPROGRESS',
    operationId,
    paymentId,
    fingerprint,
    owner,
    claimedAtMs,
    leaseExpiresAtMs: nowMs + LEASE_SECONDS * 1000,
    released: false,
  };
}

/** A claim that was left by another and is ours now. */
export interface TakenOver {
  readonly kind: 'taken_over';
  readonly owner: OwnerToken;
  readonly claimedAtMs: number;
  readonly sent: 'nothing' | 'maybe';
}

/** @returns undefined when the record changed meanwhile: look again */
export async function claimExisting(
  { store, replays, clock, entropy }: ClaimedKeyTools,
  existing: IdempotencyRecord,
  request: Pick<ClaimedKey, 'fingerprint'>,
): Promise<TakenOver | Exclude<ClaimStep<RepeatOutcome>, { kind: 'claimed' }> | undefined> {
  const judged = judgeRecord(existing, request, clock.nowMs());
  if (judged.kind === 'replay') {
    if (existing.status === 'COMPLETED') replays.put(existing);
    return { kind: 'completed', outcome: judged, answer: judged.answer };
  }
  if (judged.kind !== 'stale') return { kind: 'refused', outcome: judged };
  const { claimedAtMs, released } = judged.record;
  const owner = entropy.ownerToken();
  const leaseExpiresAtMs = clock.nowMs() + LEASE_SECONDS * 1000;
  const outcome = await store.takeOver({ stale: judged.record, owner, leaseExpiresAtMs });
  if (outcome.kind === 'changed') return undefined;
  return { kind: 'taken_over', owner, claimedAtMs, sent: released ? 'nothing' : 'maybe' };
}

/**
 * Another owner has the claim: what it stored is the answer, ours is thrown away.
 *
 * @throws RetryableError when no record is there
 */
export function afterFence(
  record: IdempotencyRecord | undefined,
  request: Pick<ClaimedKey, 'fingerprint'>,
  nowMs: number,
): RepeatOutcome {
  if (record === undefined) throw contention();
  const judged = judgeRecord(record, request, nowMs);
  return judged.kind === 'stale' ? { kind: 'in_progress', leaseExpiresAtMs: judged.record.leaseExpiresAtMs } : judged;
}

export function contention(): RetryableError {
  return new RetryableError('contention', 'too many rivals at once for this key', { retryAfterSeconds: 1 });
}
