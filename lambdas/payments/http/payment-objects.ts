import * as z from 'zod';
import { CANCEL_REASONS, PAYMENT_STATUSES } from '../domain/payment.ts';

/**
 * A payment and a refund as they are shown: in answers, in events, and in the API's documents. Objects are open: a reader
 * must pass over fields that it does not know.
 */

export const shownAmount = (description: string) =>
  z
    .int()
    .min(0)
    .meta({ description: `${description}, in minor units.` });
export const unixSeconds = z.int().meta({ description: 'Unix time in seconds.', example: 1772366400 });

export const payment = z
  .looseObject({
    id: z
      .string()
      .regex(/^pay_[a-z2-7]{32}$/)
      .meta({ example: 'pay_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp' }),
    object: z.literal('payment'),
    amount: shownAmount('What was asked for'),
    amount_captured: shownAmount('What was taken'),
    amount_refunded: shownAmount('What was given back'),
    currency: z.string().meta({ example: 'EUR' }),
    status: z
      .enum(PAYMENT_STATUSES)
      .meta({ description: '`processing` means that the outcome is not known yet: ask again with GET.' }),
    source: z.string(),
    capture: z.enum(['automatic', 'manual']),
    next_action: z
      .looseObject({ type: z.literal('redirect'), url: z.string() })
      .exactOptional()
      .meta({ description: 'What the payer must do; only while the status is `requires_action`.' }),
    processor: z.looseObject({
      name: z.string(),
      charge_id: z.string().nullable(),
      fee: shownAmount('What the processor keeps; left out until it has said so').exactOptional(),
    }),
    failure: z.looseObject({ code: z.string(), message: z.string() }).nullable(),
    cancellation_reason: z
      .string()
      .exactOptional()
      .meta({ description: 'Why it was let go; only while the status is `canceled`.', enum: [...CANCEL_REASONS] }),
    reference: z.string().nullable(),
    description: z.string().nullable(),
    metadata: z.record(z.string(), z.string()),
    created: unixSeconds,
    livemode: z.boolean(),
  })
  .meta({ id: 'Payment' });

export const refund = z
  .looseObject({
    id: z.string().meta({
      description: '`ref_…`; the processor’s own of one that was made there.',
      example: 'ref_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp2wq7hzd4ynrk5xcb3tmvja6ofe',
    }),
    object: z.literal('refund'),
    payment: payment.shape.id,
    amount: shownAmount('What is given back'),
    currency: z.string().meta({ example: 'EUR' }),
    status: z
      .enum(['pending', 'succeeded', 'failed'])
      .meta({ description: '`pending` means that the outcome is not known yet. Also a success may fail days later.' }),
    reason: z.string().nullable().meta({ description: 'Why, in your words.' }),
    failure: z.looseObject({ code: z.string(), message: z.string() }).nullable(),
    created: unixSeconds.nullable().meta({
      description: 'Unix time in seconds; null of one that was made at the processor.',
    }),
  })
  .meta({ id: 'Refund' });
