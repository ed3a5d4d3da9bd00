import type { Answer } from '../../kernel/answer.ts';
import { RetryableError } from '../../kernel/faults.ts';
import type { Fingerprint } from '../../kernel/fingerprint.ts';
import { compareFingerprints } from '../../kernel/fingerprint.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { EffectRecord, IdempotencyRecord, OpenRecord } from '../domain/idempotency.ts';
import { isExpired, isLeased } from '../domain/idempotency.ts';

export type RepeatOutcome =
  /** The stored response. */
  | { readonly kind: 'replay'; readonly answer: Answer; readonly source: 'store' | 'cache' }
  | { readonly kind: 'in_progress'; readonly leaseExpiresAtMs: number }
  | { readonly kind: 'payload_mismatch' };

type Judgement =
  | RepeatOutcome
  /** The retention has ended: the key is refused, and its operation is never executed again. */
  | { readonly kind: 'key_expired' }
  | { readonly kind: 'stale'; readonly record: OpenRecord };

/** @throws as `isSameRequest` */
export function judgeRecord(
  record: IdempotencyRecord,
  request: { readonly fingerprint: Fingerprint },
  nowMs: number,
): Judgement {
  if (record.status === 'COMPLETED' && isExpired(record, nowMs)) return { kind: 'key_expired' };
  if (!isSameRequest(record.fingerprint, request.fingerprint)) return { kind: 'payload_mismatch' };
  if (record.status === 'COMPLETED') return { kind: 'replay', answer: record.answer, source: 'store' };
  if (isLeased(record, nowMs)) return { kind: 'in_progress', leaseExpiresAtMs: record.leaseExpiresAtMs };
  return { kind: 'stale', record };
}

export function judgeEffect(
  { request }: Pick<EffectRecord, 'request'>,
  mine: Fingerprint,
): { readonly kind: 'replay'; readonly answer: Answer } | { readonly kind: 'payload_mismatch' } {
  invariant(request !== undefined, 'the effect record has no request');
  if (!isSameRequest(request.fingerprint, mine)) return { kind: 'payload_mismatch' };
  return { kind: 'replay', answer: request.answer };
}

/**
 * @throws RetryableError when a newer version of the code computed the stored fingerprint; the newer version must
 * decide
 */
function isSameRequest(stored: Fingerprint, mine: Fingerprint): boolean {
  switch (compareFingerprints(stored, mine)) {
    case 'same':
      return true;
    case 'different':
      return false;
    case 'unknown_version':
      throw new RetryableError(
        'fingerprint_version_unknown',
        'this idempotency key was claimed by a newer version of the service',
        { retryAfterSeconds: 1 },
      );
  }
}
