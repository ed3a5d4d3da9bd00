import type { CancellationReason } from '@aws-sdk/client-dynamodb';
import {
  ConditionalCheckFailedException,
  DynamoDBServiceException,
  TransactionCanceledException,
} from '@aws-sdk/client-dynamodb';
import type { Retention } from '../contract/retention.ts';
import { AmbiguousError, NotBegunError, RetryableError, TerminalError } from '../faults.ts';
import type { Clock, Entropy } from '../world.ts';
import { isAfterAttempt } from './sdk-errors.ts';

/** Calls to DynamoDB are retried only here (the SDK's retries are disabled), with full jitter. */
export const MAX_ATTEMPTS = 5;
const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 1_000;
const RETRY_AFTER_SECONDS = 2;

export interface Pacing {
  readonly clock: Clock;
  readonly entropy: Entropy;
  /** @default RETENTION_HOURS */
  readonly retention?: Retention | undefined;
  /** No attempt begins after this time. @default none */
  readonly untilMs?: number;
}

type FailureClass =
  /** A condition rejected the write, which is an expected outcome. `reasons` contains the existing item. */
  | { readonly kind: 'condition'; readonly reasons: readonly CancellationReason[] }
  /** A rival is writing the same item; nothing was applied. */
  | { readonly kind: 'conflict' }
  /** Nothing was applied. */
  | { readonly kind: 'throttled' }
  /** The write may have been applied. */
  | { readonly kind: 'ambiguous' }
  | { readonly kind: 'terminal' };

const THROTTLES = new Set([
  'ProvisionedThroughputExceededException',
  'ThrottlingException',
  'RequestLimitExceeded',
  'LimitExceededException',
]);
const CANCELED_BY_LOAD = new Set(['TransactionConflict', 'ThrottlingError', 'ProvisionedThroughputExceeded']);

/**
 * Classifies a failure by the effect that the call may have had (Amazon DynamoDB developer guide, "Error handling with
 * DynamoDB" and "Transaction conflict handling").
 */
function classify(error: unknown): FailureClass {
  if (error instanceof TransactionCanceledException) return classifyCancellation(error.CancellationReasons ?? []);
  if (error instanceof ConditionalCheckFailedException) {
    return { kind: 'condition', reasons: [{ Code: 'ConditionalCheckFailed', Item: error.Item }] };
  }
  // DynamoDB responded, but the response was incomplete.
  if (error instanceof RetryableError) return { kind: 'throttled' };
  if (!(error instanceof DynamoDBServiceException)) {
    // There was no response (a timeout, a connection reset, a host name that could not be resolved), or the SDK failed
    // before it sent the request.
    return { kind: isAfterAttempt(error) ? 'ambiguous' : 'terminal' };
  }
  if (THROTTLES.has(error.name)) return { kind: 'throttled' };
  if (error.name === 'TransactionConflictException') return { kind: 'conflict' };
  // An earlier call with the same client token is still in progress.
  if (error.name === 'TransactionInProgressException') return { kind: 'ambiguous' };
  return (error.$metadata.httpStatusCode ?? 500) >= 500 ? { kind: 'ambiguous' } : { kind: 'terminal' };
}

function classifyCancellation(reasons: readonly CancellationReason[]): FailureClass {
  const codes = reasons.map((reason) => reason.Code ?? 'None');
  // Check for a conflict first: during a rival's transaction, the other reasons may reflect only a part of it.
  if (codes.includes('TransactionConflict')) return { kind: 'conflict' };
  if (codes.includes('ConditionalCheckFailed')) return { kind: 'condition', reasons };
  return codes.some((code) => CANCELED_BY_LOAD.has(code)) ? { kind: 'throttled' } : { kind: 'terminal' };
}

export type WriteResult<Early> =
  | { readonly kind: 'applied' }
  | { readonly kind: 'refused'; readonly reasons: readonly CancellationReason[] }
  | { readonly kind: 'early'; readonly result: Early };

/**
 * Retries a conditional write until it is applied or refused. `send` must send the same write each time, in a form that
 * cannot be applied twice: a transaction with the same client token, or a write whose condition is false once it has
 * been applied.
 *
 * @param onConflict checks whether the rival's write makes this write unnecessary; if it returns undefined, this write
 * is retried
 * @throws RetryableError when no attempt was applied, AmbiguousError when an attempt may have been applied,
 * TerminalError when no attempt can succeed
 */
export async function writeConditionally<Early = never>(
  pacing: Pacing,
  send: () => Promise<unknown>,
  onConflict: () => Promise<Early | undefined> = async () => undefined,
): Promise<WriteResult<Early>> {
  let mayBeApplied = false;
  let lastError: unknown;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    if (attempt > 0) await pause(pacing, attempt);
    if (timeLeftMs(pacing) <= 0) break;
    try {
      await send();
      return { kind: 'applied' };
    } catch (error) {
      // An earlier attempt whose response was lost may have been applied.
      if (error instanceof NotBegunError) throw mayBeApplied ? exhausted(error, true) : error;
      lastError = error;
      const failure = classify(error);
      if (failure.kind === 'condition') return { kind: 'refused', reasons: failure.reasons };
      if (failure.kind === 'terminal' && mayBeApplied) throw exhausted(error, true);
      if (failure.kind === 'terminal')
        throw new TerminalError('store_refused', 'the store refused a write', { cause: error });
      if (failure.kind === 'ambiguous') mayBeApplied = true;
      if (failure.kind === 'conflict') {
        const early = await onConflict();
        if (early !== undefined) return { kind: 'early', result: early };
      }
    }
  }
  throw exhausted(lastError, mayBeApplied);
}

/** @throws RetryableError when the store cannot be read now, TerminalError when a retry cannot succeed */
export async function readWithRetries<Result>(pacing: Pacing, read: () => Promise<Result>): Promise<Result> {
  let lastError: unknown;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    if (attempt > 0) await pause(pacing, attempt);
    if (timeLeftMs(pacing) <= 0) break;
    try {
      return await read();
    } catch (error) {
      if (error instanceof NotBegunError) throw error;
      lastError = error;
      if (classify(error).kind === 'terminal') {
        throw new TerminalError('store_refused', 'the store refused a read', { cause: error });
      }
    }
  }
  throw exhausted(lastError, false);
}

export function timeLeftMs({ clock, untilMs = Number.POSITIVE_INFINITY }: Pacing): number {
  return untilMs - clock.nowMs();
}

export async function pause({ clock, entropy }: Pacing, attempt: number): Promise<void> {
  await clock.sleep(entropy.fraction() * Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt));
}

export function exhausted(cause: unknown, mayBeApplied: boolean): RetryableError | AmbiguousError {
  const options = { cause, retryAfterSeconds: RETRY_AFTER_SECONDS };
  return mayBeApplied
    ? new AmbiguousError('store_ambiguous', 'it is not known whether the store applied the write', options)
    : new RetryableError('store_unavailable', 'the store is unavailable; nothing was written', options);
}
