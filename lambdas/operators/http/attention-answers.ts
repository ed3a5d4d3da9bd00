import * as z from 'zod';
import { payment, shownAmount, unixSeconds } from '../../payments/http/payment-objects.ts';
import { paymentList } from '../../views/http/list-answers.ts';
import { ATTENTION_ACTS, ATTENTION_KINDS } from '../use/attention.ts';
import { DISMISSAL_REASONS } from '../use/dismiss-callback.ts';

/* Schemas of the responses that list entries or payments of all tenants, for the API documentation. */

const kind = z.enum(ATTENTION_KINDS);

const attentionEntry = z
  .looseObject({
    object: z.literal('attention_entry'),
    id: z
      .string()
      .meta({ description: 'Identifies the entry by its position in the list; use it as `starting_after`.' }),
    kind,
    about: z.string().nullable().meta({
      description: 'The id of the payment or order; null when it is unknown, or when the entry concerns neither.',
    }),
    part: z.string().nullable().meta({
      description:
        'The id of the change, charge, approval, mismatch or webhook endpoint; null when the entry concerns a whole payment, order or queue.',
    }),
    callback: z.string().nullable().meta({ description: 'The id of the unmatched callback.' }),
    queue: z.string().nullable().meta({ description: 'The `id` of the queue that contains the entry.' }),
    count: z
      .int()
      .min(1)
      .meta({ description: 'For a message queue, the approximate number of messages; otherwise 1.' }),
    tenant: z.string().nullable(),
    mode: z.enum(['test', 'live']).nullable(),
    amount: shownAmount('The amount in question').nullable(),
    currency: z.string().nullable(),
    reason: z.string().meta({ description: 'Why the entry needs a person, as a sentence.' }),
    since: unixSeconds.nullable(),
    age: z.int().min(0).nullable().meta({ description: 'Seconds.' }),
    act: z.enum(ATTENTION_ACTS).meta({
      description:
        'The action that resolves the entry. `decide_payment` and `decide_change`: `POST /v1/admin/payments/{about}/resolve`, for a change with `part` ' +
        'as `change`. `cancel`: `POST /v1/admin/payments/{about}/cancel`. `redrive`: redrive `queue`. `run_job`: run the jobs that the entries of `queue` name, then dismiss the entries. `repair_endpoint`: `PATCH /v1/webhook_endpoints/{part}` with `enabled`; `false` confirms that the endpoint stays disabled. `compare`: compare with the processor’s ' +
        'books, then correct or decide. `approve`: approve or reject the approval `part`. `dismiss`: `POST /v1/admin/callbacks/{callback}/dismiss`. `look`: read `reason`; no single action of the API resolves the entry.',
    }),
  })
  .meta({ id: 'AttentionEntry' });

const attentionCount = z
  .looseObject({
    kind,
    count: z.int().min(0),
    more: z.boolean().meta({ description: 'Whether there may be more entries of this kind than were counted.' }),
    oldest_age: z
      .int()
      .min(0)
      .nullable()
      .meta({ description: 'The age of the oldest entry, in seconds. Null when no time is known.' }),
  })
  .meta({ id: 'AttentionCount' });

export const attentionList = z
  .looseObject({
    object: z.literal('list'),
    data: z.array(attentionEntry).meta({ description: 'Sorted by kind, then oldest first.' }),
    has_more: z.boolean(),
    counts: z.array(attentionCount).meta({ description: 'One count for each kind.' }),
    unread: z.array(kind).meta({ description: 'Kinds with entries that could not be read.' }),
  })
  .meta({ id: 'AttentionList' });

const callbackId = z
  .string()
  .regex(/^cb_[a-z2-7]{32}$/)
  .meta({ example: 'cb_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp' });

export const dismissalPath = z.object({ id: callbackId.meta({ description: 'The `callback` of an entry.' }) });

export const dismissalReason = {
  description:
    '`nothing_due`: no refund is due to the payer. `refunded`: the charge was refunded or voided at the processor. `other_program`: another program made the charge.',
};

export const dismissal = z
  .looseObject({
    object: z.literal('dismissal'),
    callback: callbackId,
    charge_id: z.string().meta({ description: 'The charge at the processor.' }),
    reason: z.enum(DISMISSAL_REASONS).meta(dismissalReason),
    created: unixSeconds,
  })
  .meta({ id: 'Dismissal' });

const foundPayment = payment.extend({ tenant: z.string() }).meta({ id: 'FoundPayment' });

export const foundPaymentList = paymentList
  .extend({ data: z.array(foundPayment).meta({ description: 'Newest first.' }) })
  .meta({ id: 'FoundPaymentList' });
