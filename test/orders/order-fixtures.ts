import { fingerprintOf } from '../../lambdas/kernel/fingerprint.ts';
import { parseIdempotencyKey } from '../../lambdas/kernel/idempotency-key.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { deriveOrderId } from '../../lambdas/orders/ids.ts';
import type { CreateOrder, CreateOrderOutcome } from '../../lambdas/orders/use/create-order.ts';
import { BY_REQUEST } from '../support/causes.ts';

/** 20.00 EUR of tea, with a referrer. */
export function orderRequest(key: string, changes: Partial<CreateOrder> = {}): CreateOrder {
  const parsed = parseIdempotencyKey([key]);
  if (parsed.kind !== 'key') throw new Error(`${key} is not an idempotency key`);
  const caller = { tenantId: tenantId('ten_fixture'), mode: 'test' as const };
  const asked = {
    amountMinor: 2_000,
    currency: 'EUR',
    source: 'tok_ok',
    items: [{ sku: 'sku_tea', quantity: 2 }],
    email: 'ada@example.com',
    referrer: 'ref_friend',
    ...changes,
  };
  return {
    ...caller,
    orderId: deriveOrderId(systemDigest, { ...caller, method: 'POST', path: '/v1/orders', key: parsed.key }),
    fingerprint: fingerprintOf(systemDigest, { body: JSON.parse(JSON.stringify(asked)), query: {} }),
    requestId: 'req-order',
    cause: BY_REQUEST,
    ...asked,
  };
}

export function answerOf(outcome: CreateOrderOutcome): {
  readonly status: number;
  readonly body: Record<string, unknown>;
} {
  if (outcome.kind !== 'first' && outcome.kind !== 'replay')
    throw new Error(`expected a response, got ${outcome.kind}`);
  return { status: outcome.answer.status, body: JSON.parse(outcome.answer.body) as Record<string, unknown> };
}
