import { fingerprintOf } from '../../lambdas/kernel/fingerprint.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { systemClock, systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import { paymentIdFor } from '../payments/payment-fixtures.ts';
import { BY_REQUEST } from '../support/causes.ts';
import { createSandboxInProcess, type SandboxInProcess } from '../world/sandbox-in-process.ts';

/** 128 bits in base 32, as identifiers are in production. */
const LONG_ID = 'abcdefghijklmnopqrstuvwxyz';

/** What a shop sends for an order: every field has the length that it has in production. */
export function typicalPayment(key: string, changes: Partial<CreatePayment> = {}): CreatePayment {
  const body = { amount: 12_500, currency: 'EUR', source: 'tok_ok', ...changes };
  return {
    paymentId: paymentIdFor(key),
    tenantId: tenantId(`ten_${LONG_ID}`),
    mode: 'test',
    fingerprint: fingerprintOf(systemDigest, { body: JSON.parse(JSON.stringify(body)), query: {} }),
    requestId: BY_REQUEST.requestId,
    cause: BY_REQUEST,
    amountMinor: 12_500,
    currency: 'EUR',
    source: 'tok_ok',
    capture: 'automatic',
    ...changes,
  };
}

/** The sandbox in process, under names as long as a real one's. */
export function typicalProcessor(): SandboxInProcess {
  const newId = (prefix: string, count: number) => `${prefix}${LONG_ID}${count}`;
  const processor = createSandboxInProcess({ clock: systemClock, newId });
  return {
    ...processor,
    endpoint: 'https://a1b2c3d4e5.execute-api.us-east-1.amazonaws.com/sandbox',
    apiVersion: '2026-03-01',
  };
}
