import type { ChargeOrder } from '../../lambdas/app/ports.ts';
import { base32 } from '../../lambdas/core/digest.ts';
import { chargeOperation, parsePaymentId } from '../../lambdas/core/ids.ts';

/** An order for a payment that nobody knows yet. */
export function freshOrder(changes: Partial<ChargeOrder> = {}): ChargeOrder {
  const paymentId = parsePaymentId(`pay_${base32(crypto.getRandomValues(new Uint8Array(20)))}`);
  if (paymentId === undefined) throw new Error('the id of a fresh payment must be well formed');
  return {
    operationId: chargeOperation(paymentId),
    paymentId,
    amountMinor: 1_999,
    currency: 'EUR',
    source: 'tok_ok',
    capture: 'automatic',
    ...changes,
  };
}
