import * as z from 'zod';
import type { CreateCharge, SwitchedFailures } from '../lambdas/processors/sandbox/sandbox-api.ts';
import { MAX_COPIES } from './tasks.ts';

const amountMinor = z.int().positive();
const metadata = z.record(z.string().min(1).max(40), z.string().max(500));
const source = z.string().min(1).max(255);

export const createChargeBody = z.strictObject({
  amount: amountMinor,
  currency: z.string().regex(/^[A-Z]{3}$/, 'must be an ISO 4217 code in upper case'),
  source,
  capture: z.enum(['automatic', 'manual']),
  metadata,
  return_url: z
    .url({ protocol: /^https?$/ })
    .max(2_048)
    .optional(),
}) satisfies z.ZodType<CreateCharge>;

/** Without an amount, the request applies to the whole amount. */
export const amountBody = z.strictObject({ amount: amountMinor.optional() });

/** A default of `metadata` would change the fingerprint of older requests that contain no metadata. */
export const refundBody = amountBody.extend({ metadata: metadata.optional() });

export const emptyBody = z.strictObject({});

export const switchedFailuresBody = z.strictObject({
  count: z.int().min(0).max(1_000_000),
  source,
}) satisfies z.ZodType<SwitchedFailures>;

export const resendBody = z.strictObject({
  id: z.enum(['same', 'new']).default('same'),
  copies: z.int().min(1).max(MAX_COPIES).default(1),
});

export const closeDisputeBody = z.strictObject({ outcome: z.enum(['won', 'lost']) });

export const decisionBody = z.strictObject({ decision: z.enum(['approve', 'refuse']) });

/** The length is limited so that a key fits into a table key. */
export const idempotencyKey = z.string().regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 visible ASCII characters');
