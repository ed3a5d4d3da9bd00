import * as z from 'zod';
import { payment, shownAmount, unixSeconds } from '../../payments/http/payment-objects.ts';
import { paymentList } from '../../views/http/list-answers.ts';
import { ATTENTION_ACTS, ATTENTION_KINDS } from '../use/attention.ts';

/** Schemas of the lists of entries and payments across tenants, for the API documents. */

const kind = z.enum(ATTENTION_KINDS);

const attentionEntry = z
  .looseObject({
    object: z.literal('attention_entry'),
    id: z.string().meta({ description: 'The place of the entry; for `starting_after`.' }),
    kind,
    about: z.string().nullable().meta({ description: 'The payment or the order; null when it is not known.' }),
    part: z.string().nullable().meta({ description: 'The change, charge, approval or difference.' }),
    queue: z.string().nullable().meta({ description: 'The queue that holds it, as in the list of queues.' }),
    count: z.int().min(1).meta({ description: 'The approximate number of messages of a queue; otherwise 1.' }),
    tenant: z.string().nullable(),
    mode: z.enum(['test', 'live']).nullable(),
    amount: shownAmount('The amount it is about').nullable(),
    currency: z.string().nullable(),
    reason: z.string().meta({ description: 'For people.' }),
    since: unixSeconds.nullable(),
    age: z.int().min(0).nullable().meta({ description: 'Seconds.' }),
    act: z.enum(ATTENTION_ACTS).meta({
      description:
        'The action that ends it. `decide_payment` and `decide_change`: `POST /v1/admin/payments/{about}/resolve`, for a change with `part` ' +
        'as `change`. `cancel`: `POST /v1/admin/payments/{about}/cancel`. `redrive`: of `queue`. `compare`: compare with the books of the ' +
        'processor, then correct or decide. `approve`: of the approval `part`. `look`: nothing here ends it; `reason` says why.',
    }),
  })
  .meta({ id: 'AttentionEntry' });

const attentionCount = z
  .looseObject({
    kind,
    count: z.int().min(0),
    more: z.boolean().meta({ description: 'Whether there may be more than were counted.' }),
    oldest_age: z.int().min(0).nullable().meta({ description: 'Seconds. Null when no time is known.' }),
  })
  .meta({ id: 'AttentionCount' });

export const attentionList = z
  .looseObject({
    object: z.literal('list'),
    data: z.array(attentionEntry).meta({ description: 'By kind, then oldest first.' }),
    has_more: z.boolean(),
    counts: z.array(attentionCount).meta({ description: 'All kinds.' }),
  })
  .meta({ id: 'AttentionList' });

const foundPayment = payment.extend({ tenant: z.string() }).meta({ id: 'FoundPayment' });

export const foundPaymentList = paymentList
  .extend({ data: z.array(foundPayment).meta({ description: 'Newest first.' }) })
  .meta({ id: 'FoundPaymentList' });
