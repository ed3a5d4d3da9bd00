import { parseIdempotencyKey } from '../../lambdas/kernel/idempotency-key.ts';
import { derivePaymentId, type PaymentId, tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';

/** The id of the payment that this key makes: known before it is there, because it is derived. */
export function expectedPaymentId(tenant: string, key: string): PaymentId {
  const parsed = parseIdempotencyKey([key]);
  if (parsed.kind !== 'key') throw new Error(`${key} is no key`);
  const scope = { tenantId: tenantId(tenant), mode: 'test' as const, method: 'POST', path: '/v1/payments' };
  return derivePaymentId(systemDigest, { ...scope, key: parsed.key });
}
