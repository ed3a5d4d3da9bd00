import * as z from 'zod';
import type { CreateCredit } from '../../kernel/contract/shop-api.ts';
import type { OperationId, OrderId } from '../../kernel/ids.ts';
import type { HttpAnswer } from '../../outbound/http-call.ts';
import { readJson } from '../../outbound/vendor-answers.ts';
import type { CreditOrder, CreditOutcome, ReferralProgram } from '../use/order-parties.ts';
import { givenUpCall } from './mailer.ts';
import { postToShop, refusalOf, type ShopOptions } from './shop-call.ts';

export const CREDITS_PATH = '/referrals/credits';

/** The operation of this adapter's dead letters. The payload is the credit. */
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

/** The shop's referral credits over its HTTP contract. The shop keeps idempotency keys permanently. */
export function createShopReferrals(options: ShopOptions): ReferralProgram {
  const { policy, givenUp = 'throw' } = options;
  return {
    credit: async ({ operationId, orderId, referrer, amountMinor, currency }, limit) => {
      const body: CreateCredit = { order: orderId, referrer, amount: amountMinor, currency };
      const payload: CreditOrder = { operationId, orderId, referrer, amountMinor, currency };
      const outcome = await postToShop(
        options,
        { operation: CREDIT_OPERATION, about: orderId, path: CREDITS_PATH, key: operationId, body, limit },
        (answer, nowMs) => readCredit(policy.vendor, body, answer, nowMs),
        { givenUp, payload },
      );
      return 'mayBeApplied' in outcome && outcome.kind !== 'given_up' ? givenUpCall(outcome) : outcome;
    },
  };
}

function readCredit(vendor: string, ordered: CreateCredit, answer: HttpAnswer, nowMs: number): CreditOutcome {
  if (answer.status !== 201) return { kind: 'refused', failure: refusalOf(vendor, answer, nowMs) };
  const { order, amount, currency } = ordered;
  // A credit that differs from the order makes the answer unreadable.
  const given = credit.extend({
    order: z.literal(order),
    amount: z.literal(amount),
    currency: z.literal(currency),
  });
  return { kind: 'credited', creditId: readJson(vendor, given, answer).id };
}
