import * as z from 'zod';
import type { CreateCharge, SwitchedFailures } from '../contract/sandbox-api.ts';

const amountMinor = z.int().positive();
const metadata = z.record(z.string().min(1).max(40), z.string().max(500));

export const createChargeBody = z.strictObject({
  amount: amountMinor,
  currency: z.string().regex(/^[A-Z]{3}$/, 'must be an ISO 4217 code in upper case'),
  source: z.string().min(1).max(100),
  capture: z.enum(['automatic', 'manual']),
  metadata,
}) satisfies z.ZodType<CreateCharge>;

/** Of a capture or a refund; without an amount, all that is left. */
export const amountBody = z.strictObject({ amount: amountMinor.optional() });

export const emptyBody = z.strictObject({});

export const switchedFailuresBody = z.strictObject({
  count: z.int().min(0).max(1_000_000),
  source: z.string().min(1).max(100),
}) satisfies z.ZodType<SwitchedFailures>;

/** Idempotency keys are opaque; the bound keeps them inside a table key. */
export const idempotencyKey = z.string().regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 visible ASCII characters');
