import { parseIdempotencyKey } from '../../lambdas/kernel/idempotency-key.ts';
import { type OrderId, type PaymentId, tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { deriveOrderId } from '../../lambdas/orders/ids.ts';
import { derivePaymentId } from '../../lambdas/payments/ids.ts';

/** The payment need not exist yet. */
export function expectedPaymentId(tenant: string, key: string): PaymentId {
  return derivePaymentId(systemDigest, scopeOf(tenant, '/v1/payments', key));
}

export function expectedOrderId(tenant: string, key: string): OrderId {
  return deriveOrderId(systemDigest, scopeOf(tenant, '/v1/orders', key));
}

function scopeOf(tenant: string, path: string, key: string) {
  const parsed = parseIdempotencyKey([key]);
  if (parsed.kind !== 'key') throw new Error(`${key} is not an idempotency key`);
  return { tenantId: tenantId(tenant), mode: 'test' as const, method: 'POST', path, key: parsed.key };
}
