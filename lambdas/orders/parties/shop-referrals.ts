import * as z from 'zod';
import type { OperationId, OrderId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { HttpAnswer } from '../../outbound/http-call.ts';
import { type SendAnswer, sendOnce } from '../../outbound/send-once.ts';
import type { SendingClaims } from '../../outbound/use/sending-claims.ts';
import { readJson } from '../../outbound/vendor-answers.ts';
import type { CreditOrder, ReferralProgram } from '../use/order-parties.ts';
import { givenUpCall } from './mailer.ts';
import type { CreateCredit } from './shop-api.ts';
import { postOnce, refusalOf, type ShopOptions } from './shop-call.ts';

export const CREDITS_PATH = '/referrals/credits';

/** The operation in this adapter's dead letters. The payload is the credit. */
export const CREDIT_OPERATION = 'credit.give';
export const creditOrderSchema = z.strictObject({
  operationId: z
    .string()
    .min(1)
    .transform((id) => id as OperationId),
  orderId: z
    .string()
    .min(1)
    .transform((id) => id as OrderId),
  referrer: z.string().min(1),
  amountMinor: z.int().positive(),
  currency: z.string(),
}) satisfies z.ZodType<CreditOrder>;

const credit = z.object({
  object: z.literal('credit'),
  id: z.string().min(1),
  order: z.string(),
  amount: z.int(),
  currency: z.string(),
});

interface ReferralOptions extends ShopOptions {
  readonly claims: SendingClaims;
}

/**
 * Implements the referral program through the HTTP API of a shop. The shop stores idempotency keys permanently, so a
 * credit can be sent again with its key. If a worker is killed after its send, the sending claim remains. It shows that
 * the credit may have been given. If all later attempts fail, the outcome is therefore unknown:
 *
 *   worker   claim ── send ✓ (killed)
 *   later                     claim exists ── send: 429, 429, … ── given up: unknown, not failed
 */
export function createShopReferrals(options: ReferralOptions): ReferralProgram {
  const { policy, claims, clock, givenUp = 'throw' } = options;
  return {
    credit: async ({ operationId, orderId, referrer, amountMinor, currency }, { timeoutMs }) => {
      const body: CreateCredit = { order: orderId, referrer, amount: amountMinor, currency };
      const payload: CreditOrder = { operationId, orderId, referrer, amountMinor, currency };
      const outcome = await sendOnce(
        { policy, claims, clock },
        {
          key: operationId,
          operation: CREDIT_OPERATION,
          about: orderId,
          deadlineMs: clock.nowMs() + timeoutMs,
          send: async (limit) => {
            const answer = await postOnce(options, { path: CREDITS_PATH, key: operationId, body }, limit);
            return readCredit(policy.vendor, body, answer, clock.nowMs());
          },
          withinCall: 'by_key',
          givenUp,
          payload,
        },
      );
      switch (outcome.kind) {
        case 'sent':
          return { kind: 'credited', creditId: outcome.vendorId };
        case 'refused':
          return outcome;
        case 'needs_review':
          invariant(false, 'a credit that can be repeated with its idempotency key needs no review');
        case 'delayed':
        case 'dead_lettered':
          return givenUpCall(outcome);
      }
    },
  };
}

function readCredit(vendor: string, ordered: CreateCredit, answer: HttpAnswer, nowMs: number): SendAnswer {
  if (answer.status !== 201) return { kind: 'refused', failure: refusalOf(vendor, answer, nowMs) };
  const { order, amount, currency } = ordered;
  // If the credit in the response differs from the requested one, the response is treated as unreadable.
  const given = credit.extend({
    order: z.literal(order),
    amount: z.literal(amount),
    currency: z.literal(currency),
  });
  return { kind: 'sent', vendorId: readJson(vendor, given, answer).id };
}
