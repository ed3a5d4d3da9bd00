import { base32 } from '../../lambdas/kernel/digest.ts';
import { storedOperationId } from '../../lambdas/kernel/ids.ts';
import { chargeOperation, parsePaymentId } from '../../lambdas/payments/ids.ts';
import type { ChangeOrder, ChargeChange, ChargeOrder } from '../../lambdas/payments/use/processor.ts';

export function freshOrder(changes: Partial<ChargeOrder> = {}): ChargeOrder {
  const paymentId = parsePaymentId(`pay_${base32(crypto.getRandomValues(new Uint8Array(20)))}`);
  if (paymentId === undefined) throw new Error('the payment id is malformed');
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

/** As the sandbox shows a charge that succeeded. */
export const chargeFor = (order: ChargeOrder) => ({
  id: 'ch_1',
  object: 'charge',
  livemode: false,
  amount: order.amountMinor,
  amount_captured: order.amountMinor,
  amount_refunded: 0,
  currency: order.currency,
  capture: order.capture,
  status: 'succeeded',
  failure: null,
  fee: null,
  action_url: null,
  void_reason: null,
  refunds: [],
  disputes: [],
  metadata: { payment: order.paymentId, operation: order.operationId },
  created: 1_767_225_600,
});

const PREFIXES = { capture: 'cap_', void: 'can_', refund: 'ref_' } as const;

export function freshChange(order: ChargeOrder, chargeId: string, change: ChargeChange): ChangeOrder {
  const payment = order.paymentId.slice('pay_'.length);
  // 16 bytes are encoded as 26 base32 characters. The last character encodes fewer bits.
  const letters = base32(crypto.getRandomValues(new Uint8Array(16)));
  return {
    operationId: storedOperationId(`${PREFIXES[change.kind]}${payment}${letters}`),
    paymentId: order.paymentId,
    chargeId,
    currency: order.currency,
    change,
  };
}
