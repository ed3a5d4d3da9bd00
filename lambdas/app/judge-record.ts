import { RetryableError } from '../core/faults.ts';
import { compareFingerprints } from '../core/fingerprint.ts';
import type { IdempotencyRecord, OpenRecord } from '../core/idempotency.ts';
import { isExpired, isLeased } from '../core/idempotency.ts';
import type { CreatePayment, CreatePaymentOutcome } from './create-payment-types.ts';

export type Judgement = CreatePaymentOutcome | { readonly kind: 'stale'; readonly record: OpenRecord };

/** What a record that stands in the way means for this request, in documented precedence. */
export function judgeRecord(record: IdempotencyRecord, request: CreatePayment, nowMs: number): Judgement {
  if (record.status === 'COMPLETED' && isExpired(record, nowMs))
    return { kind: 'key_expired', paymentId: record.paymentId };
  switch (compareFingerprints(record.fingerprint, request.fingerprint)) {
    case 'different':
      return { kind: 'payload_mismatch' };
    case 'unknown_version':
      throw new RetryableError(
        'fingerprint_version_unknown',
        'this key was claimed by a newer version of the service',
        {
          retryAfterSeconds: 1,
        },
      );
    case 'same':
      break;
  }
  if (record.status === 'COMPLETED') return { kind: 'replay', answer: record.answer, source: 'store' };
  if (isLeased(record, nowMs)) return { kind: 'in_progress', leaseExpiresAtMs: record.leaseExpiresAtMs };
  return { kind: 'stale', record };
}
