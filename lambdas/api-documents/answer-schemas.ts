import * as z from 'zod';
import { PROBLEMS } from '../runtime/problems.ts';

/** What the API answers, for its documents. Objects are open: a client must pass over fields that it does not know. */

const amount = (description: string) =>
  z
    .int()
    .min(0)
    .meta({ description: `${description}, in minor units.` });
const unixSeconds = z.int().meta({ description: 'Unix time in seconds.', example: 1772366400 });

export const payment = z
  .looseObject({
    id: z
      .string()
      .regex(/^pay_[a-z2-7]{32}$/)
      .meta({ example: 'pay_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp' }),
    object: z.literal('payment'),
    amount: amount('What was asked for'),
    amount_captured: amount('What was taken'),
    amount_refunded: amount('What was given back'),
    currency: z.string().meta({ example: 'EUR' }),
    status: z
      .enum(['processing', 'requires_action', 'requires_capture', 'succeeded', 'failed', 'canceled', 'needs_review'])
      .meta({ description: '`processing` means that the outcome is not known yet: ask again with GET.' }),
    source: z.string(),
    capture: z.enum(['automatic', 'manual']),
    processor: z.looseObject({ name: z.string(), charge_id: z.string().nullable() }),
    failure: z.looseObject({ code: z.string(), message: z.string() }).nullable(),
    reference: z.string().nullable(),
    description: z.string().nullable(),
    metadata: z.record(z.string(), z.string()),
    created: unixSeconds,
    livemode: z.boolean(),
  })
  .meta({ id: 'Payment' });

const posting = z
  .looseObject({
    account: z.string().meta({ example: 'merchant_payable' }),
    direction: z.enum(['debit', 'credit']),
    amount: amount('Always positive'),
    currency: z.string(),
  })
  .meta({ id: 'Posting' });

const transition = z
  .looseObject({
    sequence: z.int().min(1).meta({ description: 'From 1, without gaps.' }),
    type: z.string().meta({ example: 'payment.completed' }),
    created: unixSeconds,
    postings: z.array(posting).meta({ description: 'Debits equal credits in every currency.' }),
  })
  .meta({ id: 'Transition' });

export const transitionList = z
  .looseObject({
    object: z.literal('list'),
    data: z.array(transition).meta({ description: 'Oldest first.' }),
    has_more: z.boolean().meta({ description: 'Whether a page with `starting_after` the last sequence holds more.' }),
  })
  .meta({ id: 'TransitionList' });

const codes = z.enum(Object.keys(PROBLEMS));

export const problem = z
  .looseObject({
    type: z.literal('about:blank'),
    title: z.string(),
    status: z.int(),
    code: codes.meta({ description: 'Stable; decide by this and by nothing else.' }),
    detail: z.string().meta({ description: 'For people; may change.' }),
    param: z.string().optional().meta({ description: 'The field at fault.', example: 'metadata.order' }),
    request_id: z.string(),
    payment_id: z.string().optional().meta({ description: 'The payment that stands in the way.' }),
    payment: payment.optional().meta({ description: 'The payment that failed.' }),
  })
  .meta({ id: 'Problem', description: 'RFC 9457.' });
