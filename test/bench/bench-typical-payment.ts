import { fingerprintOf } from '../../lambdas/kernel/fingerprint.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { systemClock, systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import { createMemoryProcessor, type MemoryProcessor } from '../payments/memory-processor.ts';
import { paymentIdFor } from '../payments/payment-fixtures.ts';
import type { MemoryIds } from '../processors/memory-charge-books.ts';
import { BY_REQUEST } from '../support/causes.ts';

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

/** The processor in memory, under names as long as a real one's. */
export function typicalProcessor(): MemoryProcessor {
  const ids: MemoryIds = (prefix, count) => `${prefix}_${LONG_ID}${count}`;
  const processor = createMemoryProcessor({ clock: systemClock, ids });
  return {
    ...processor,
    name: 'sandbox',
    account: 'sandbox',
    endpoint: 'https://a1b2c3d4e5.execute-api.us-east-1.amazonaws.com/sandbox',
    apiVersion: '2026-03-01',
  };
}
