import * as z from 'zod';
import { CANCEL_REASONS, PAYMENT_STATUSES } from '../domain/payment.ts';

/**
 * The schema of a payment and of a refund in answers, in events and in the API documents. Objects are open: a reader must
 * ignore unknown fields.
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
    amount: shownAmount('The requested amount'),
    amount_captured: shownAmount('The captured amount'),
    amount_refunded: shownAmount('The refunded amount'),
    currency: z.string().meta({ example: 'EUR' }),
    status: z
      .enum(PAYMENT_STATUSES)
      .meta({ description: '`processing` means that the outcome is not known yet. Poll with GET.' }),
    source: z.string(),
    capture: z.enum(['automatic', 'manual']),
    next_action: z
      .looseObject({ type: z.literal('redirect'), url: z.string() })
      .exactOptional()
      .meta({ description: 'The action required of the payer. Present only while the status is `requires_action`.' }),
    processor: z.looseObject({
      name: z.string(),
      charge_id: z.string().nullable(),
      fee: shownAmount('The processor’s fee; omitted until the processor has reported it').exactOptional(),
    }),
    failure: z.looseObject({ code: z.string(), message: z.string() }).nullable(),
    cancellation_reason: z
      .string()
      .exactOptional()
      .meta({
        description: 'Why the payment was canceled. Present only while the status is `canceled`.',
        enum: [...CANCEL_REASONS],
      }),
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
      description: '`ref_…`, or the processor’s id for a refund that was made at the processor.',
      example: 'ref_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp2wq7hzd4ynrk5xcb3tmvja6ofe',
    }),
    object: z.literal('refund'),
    payment: payment.shape.id,
    amount: shownAmount('The refunded amount'),
    currency: z.string().meta({ example: 'EUR' }),
    status: z.enum(['pending', 'succeeded', 'failed']).meta({
      description: '`pending` means that the outcome is not known yet. A succeeded refund can still fail days later.',
    }),
    reason: z.string().nullable().meta({ description: 'The reason that you gave.' }),
    failure: z.looseObject({ code: z.string(), message: z.string() }).nullable(),
    created: unixSeconds.nullable().meta({
      description: 'Unix time in seconds; null for a refund that was made at the processor.',
    }),
  })
  .meta({ id: 'Refund' });
