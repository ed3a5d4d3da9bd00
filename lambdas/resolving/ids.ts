import type { Digest } from '../kernel/digest.ts';
import type { OperationId, PaymentId } from '../kernel/ids.ts';
import { changeIdOf } from '../payments/ids.ts';

/**
 * @param attempt number of the attempt, from 1; the next number is used only after the previous attempt has provably
 * failed
 */
export function holdExpiryOperation(digest: Digest, paymentId: PaymentId, attempt: number): OperationId {
  return changeIdOf(digest, 'cancel', paymentId, ['expiry_of_hold', paymentId, String(attempt)]);
}

/**
 * @param attempt for a refund, its number from 1 (the next is used only after the previous return was recorded); for a
 * void, the `foundAtMs` of its queue entry
 * @param amountMinor the refunded amount in minor units, 0 for a void; part of the key, because a processor refuses a
 * known key with a different body
 */
export function returnOperation(
  digest: Digest,
  paymentId: PaymentId,
  chargeId: string,
  { attempt, amountMinor }: { readonly attempt: number; readonly amountMinor: number },
): OperationId {
  return changeIdOf(digest, 'return', paymentId, ['return', paymentId, chargeId, String(attempt), String(amountMinor)]);
}
