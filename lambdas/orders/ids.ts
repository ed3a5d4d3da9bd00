import { OperationPrefix } from '../kernel/contract/rows.ts';
import { type Digest, derivedCharacters } from '../kernel/digest.ts';
import { type KeyScope, scopeParts } from '../kernel/idempotency-key.ts';
import type { OperationId, OrderId, PaymentId } from '../kernel/ids.ts';
import { changeIdOf } from '../payments/ids.ts';

export const ORDER_ID = /^ord_[a-z2-7]{32}$/;

export function parseOrderId(text: string): OrderId | undefined {
  return ORDER_ID.test(text) ? (text as OrderId) : undefined;
}

/** Every retry with the same idempotency key yields the same id. */
export function deriveOrderId(digest: Digest, scope: KeyScope): OrderId {
  return `${OperationPrefix.order}${derivedCharacters(digest, scopeParts(scope))}` as OrderId;
}

export function orderOperation(orderId: OrderId): OperationId {
  return orderId as string as OperationId;
}

/** An order has only this payment. */
export function paymentOfOrder(digest: Digest, orderId: OrderId): PaymentId {
  return `pay_${derivedCharacters(digest, ['payment_of_order', orderId])}` as PaymentId;
}

/**
 * @param attempt from 1. The next attempt begins only when it is certain that the previous one did not reverse the
 * whole payment
 */
export function reversalOfOrder(
  digest: Digest,
  kind: 'cancel' | 'refund',
  paymentId: PaymentId,
  attempt: number,
): OperationId {
  return changeIdOf(digest, kind, paymentId, ['reversal_of_order', kind, paymentId, String(attempt)]);
}

const ORDER_STEPS = { reserve: 'stk_', confirm: 'eml_', credit: 'crd_' } as const;

/** The idempotency key of the step's call to an external service, the same on every attempt. */
export function orderStepOperation(digest: Digest, step: keyof typeof ORDER_STEPS, orderId: OrderId): OperationId {
  return `${ORDER_STEPS[step]}${derivedCharacters(digest, ['order_step', step, orderId])}` as OperationId;
}

/** The operation alerts operators to an order whose shop is no longer part of the deployment. */
export function missingShopOperation(digest: Digest, orderId: OrderId): OperationId {
  return `${OperationPrefix.inquiry}${derivedCharacters(digest, ['parties_elsewhere', orderId])}` as OperationId;
}
