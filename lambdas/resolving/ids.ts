import type { Digest } from '../kernel/digest.ts';
import type { OperationId, PaymentId } from '../kernel/ids.ts';
import { changeIdOf } from '../payments/ids.ts';

/** The void of an authorization that was never captured. @param attempt 1 for the first; the next one only after the previous one provably failed */
export function expiryOfHold(digest: Digest, paymentId: PaymentId, attempt: number): OperationId {
  return changeIdOf(digest, 'cancel', paymentId, ['expiry_of_hold', paymentId, String(attempt)]);
}

/**
 * The operation that returns a charge which its payment must not have.
 *
 * @param attempt 1 for the first; the next only after the previous one has ended
 * @param amountMinor the refunded amount, 0 for a void: a processor refuses a known key with another body. Minor units
 */
export function returnOperation(
  digest: Digest,
  paymentId: PaymentId,
  chargeId: string,
  { attempt, amountMinor }: { readonly attempt: number; readonly amountMinor: number },
): OperationId {
  return changeIdOf(digest, 'return', paymentId, ['return', paymentId, chargeId, String(attempt), String(amountMinor)]);
}
