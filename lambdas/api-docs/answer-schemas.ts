import * as z from 'zod';
import { ACTIONS, ACTIVITY_ID } from '../activity/domain/activity.ts';
import { PROBLEMS } from '../http/problems.ts';
import { KEY_ID } from '../kernel/cause.ts';
import { ROLES } from '../kernel/contract/api.ts';
import { order } from '../orders/http/order-object.ts';
import { HOLD_CHANGE_STATUSES } from '../payments/domain/change-answer.ts';
import { PAYMENT_STATUSES, TRANSITION_TYPES } from '../payments/domain/payment.ts';
import { ACCOUNTS } from '../payments/domain/posting.ts';
import { dispute, payment, refund, shownAmount, unixSeconds } from '../payments/http/payment-objects.ts';
import { MISMATCH_KINDS } from '../reconciliation/domain/compare-books.ts';
import { MISMATCH_ID } from '../reconciliation/domain/mismatch-view.ts';
import { LIMIT_KINDS } from '../tenants/limits.ts';

/** Schemas of the API's answers, for its documents. Objects are open: a client must ignore unknown fields. */

const partList = (part: z.ZodType) =>
  z.looseObject({
    object: z.literal('list'),
    data: z.array(part).meta({ description: 'In the order of their recording.' }),
    has_more: z.literal(false),
  });

export const refundList = partList(refund).meta({ id: 'RefundList' });

export const disputesOfPayment = partList(dispute).meta({ id: 'DisputesOfPayment' });

export const posting = z
  .looseObject({
    account: z.string().meta({ example: 'merchant_payable' }),
    direction: z.enum(['debit', 'credit']),
    amount: shownAmount('Always positive'),
    currency: z.string(),
  })
  .meta({ id: 'Posting' });

const requestId = z.string().meta({ description: 'The `request_id` of the request.' });
const apiKey = z
  .string()
  .meta({ description: 'The id of the API key, as `payonce keys list` shows it.', example: 'key_k3jx5aqhz4m2nrb7' });

const byRequest = z.looseObject({ type: z.literal('request'), request_id: requestId, api_key: apiKey });
const byOperator = z.looseObject({
  type: z.literal('operator'),
  operator: z.string().meta({ description: 'The name of the operator.' }),
  identity: z.string().meta({ description: 'The id of the operator’s key, or the subject at the identity provider.' }),
  request_id: requestId,
});

export const causedBy = z
  .discriminatedUnion('type', [
    byRequest,
    byOperator,
    z.looseObject({
      type: z.literal('callback'),
      event_id: z.string().meta({ description: 'The id of the processor’s event.' }),
    }),
    z.looseObject({
      type: z.literal('event'),
      event_id: z.string().meta({ description: 'The `event_id` of the event that requested the payment.' }),
      sender: z
        .string()
        .meta({ description: 'The sender of the event, by its name in the settings of the deployment.' }),
    }),
    z.looseObject({ type: z.literal('run'), run_id: z.string().meta({ description: 'The run of a job.' }) }),
  ])
  .meta({ id: 'Cause', description: 'The cause of the transition.' });

export const transitionSubject = z
  .looseObject({
    object: z.string().meta({ example: 'refund' }),
    id: z.string(),
    reason: z.string().nullable().meta({ description: 'The reason that was given for it.' }),
  })
  .nullable()
  .meta({
    description:
      'The subject of the transition besides the payment: a refund, a dispute, a correction, a decision or an annotation.',
  });

const transition = z
  .looseObject({
    sequence: z.int().min(1).meta({ description: 'From 1, without gaps.' }),
    type: z.string().meta({ example: 'payment.completed' }),
    created: unixSeconds,
    caused_by: causedBy,
    subject: transitionSubject,
    postings: z.array(posting).meta({ description: 'Debits equal credits in every currency.' }),
  })
  .meta({ id: 'Transition' });

export const transitionList = z
  .looseObject({
    object: z.literal('list'),
    data: z.array(transition).meta({ description: 'Oldest first.' }),
    has_more: z.boolean().meta({ description: 'Whether there are more after the last sequence of this page.' }),
  })
  .meta({ id: 'TransitionList' });

const account = z.enum(ACCOUNTS).meta({
  description:
    '`processor_clearing`: money that the processor holds for you. `merchant_payable`: money captured for you. `refunds`, ' +
    '`fees`, `disputes`: its parts refunded, deducted by the processor, withdrawn by banks. `late_receipts`: money ' +
    'of unexpected charges, owed to the payer. `corrections`: the contra account of operators’ corrections.',
});
const paymentId = payment.shape.id;

export const ledgerEntry = z
  .looseObject({
    id: z.string().meta({ description: 'Opaque; for `starting_after`.' }),
    object: z.literal('ledger_entry'),
    payment: paymentId,
    sequence: z.int().min(1).meta({ description: 'The sequence of the transition that posted it.' }),
    type: z.enum(TRANSITION_TYPES).meta({ description: 'Of that transition.' }),
    account,
    direction: z.enum(['debit', 'credit']),
    amount: shownAmount('Always positive'),
    currency: z.string(),
    created: unixSeconds,
  })
  .meta({ id: 'LedgerEntry' });

export const ledgerEntryList = z
  .looseObject({
    object: z.literal('list'),
    data: z.array(ledgerEntry).meta({ description: 'Oldest first; then by payment, sequence and place in the set.' }),
    has_more: z.boolean().meta({ description: 'Whether there are more after the last id of this page.' }),
  })
  .meta({ id: 'LedgerEntryList' });

const balance = z
  .looseObject({
    object: z.literal('balance'),
    account,
    currency: z.string(),
    debit: shownAmount('The sum of all debits'),
    credit: shownAmount('The sum of all credits'),
    normal_balance: z.enum(['debit', 'credit']).meta({
      description:
        'The side on which the account grows: `credit` for `merchant_payable` and `late_receipts`, `debit` for the others.',
    }),
    balance: z.int().meta({
      description:
        'In minor units, in the account’s own direction: `debit` less `credit` where `normal_balance` is `debit`, `credit` ' +
        'less `debit` where it is `credit`. So `processor_clearing` and `merchant_payable` are normally above zero; a ' +
        'balance below zero is on the other side.',
    }),
  })
  .meta({ id: 'Balance' });

export const balanceList = z
  .looseObject({
    object: z.literal('list'),
    data: z.array(balance).meta({ description: 'Accounts that have entries, by currency.' }),
    has_more: z.literal(false),
  })
  .meta({ id: 'BalanceList' });

const reasonErased = z.literal(true).exactOptional().meta({ description: 'The reason was erased.' });

export const correction = z
  .looseObject({
    id: z
      .string()
      .regex(/^cor_[a-z2-7]{32}$/)
      .meta({ example: 'cor_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp' }),
    object: z.literal('correction'),
    payment: paymentId,
    sequence: z.int().min(2).meta({ description: 'The sequence of the correction’s own transition.' }),
    reason: z.string().nullable(),
    details_erased: reasonErased,
    operator: z.string(),
    reverses: z.int().nullable().meta({ description: 'The sequence of the transition whose postings it reversed.' }),
    postings: z.array(posting).meta({ description: 'Debits equal credits in every currency.' }),
    created: unixSeconds,
  })
  .meta({ id: 'Correction' });

export const correctionsOfPayment = partList(correction).meta({ id: 'CorrectionsOfPayment' });

export const annotation = z
  .looseObject({
    id: z
      .string()
      .regex(/^ann_[a-z2-7]{32}$/)
      .meta({ example: 'ann_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp' }),
    object: z.literal('annotation'),
    payment: paymentId,
    sequence: z.int().min(2).meta({ description: 'The sequence of the annotation’s own transition.' }),
    reason: z.string().nullable(),
    details_erased: reasonErased,
    operator: z.string(),
    annotates: z.int().nullable().meta({
      description:
        'The sequence of the annotated transition; null when the annotation concerns the payment as a whole.',
    }),
    created: unixSeconds,
  })
  .meta({ id: 'Annotation' });

export const annotationsOfPayment = partList(annotation).meta({ id: 'AnnotationsOfPayment' });

export const decision = z
  .looseObject({
    id: z
      .string()
      .regex(/^dec_[a-z2-7]{32}$/)
      .meta({ example: 'dec_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp' }),
    object: z.literal('decision'),
    payment: paymentId,
    sequence: z.int().min(2).meta({ description: 'The sequence of the transition that it caused.' }),
    change: z.string().nullable().meta({
      description: 'The capture, cancellation or refund that was decided; null when the payment itself was.',
    }),
    outcome: z.enum(['succeeded', 'failed']),
    reason: z.string().nullable(),
    details_erased: reasonErased,
    operator: z.string(),
    override: z
      .boolean()
      .meta({ description: 'Whether the decision was made without the processor’s books, which could not be read.' }),
    postings: z
      .array(posting)
      .meta({ description: 'The postings of the decision. Debits equal credits in every currency.' }),
    created: unixSeconds,
  })
  .meta({ id: 'Decision' });

export const decisionsOfPayment = partList(decision).meta({ id: 'DecisionsOfPayment' });

const holdChange = (what: 'capture' | 'cancellation', prefix: string) =>
  z.looseObject({
    id: z
      .string()
      .regex(new RegExp(`^${prefix}_[a-z2-7]{58}$`))
      .meta({ example: `${prefix}_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp2wq7hzd4ynrk5xcb3tmvja6ofe` }),
    object: z.literal(what),
    payment: paymentId,
    amount: shownAmount(what === 'capture' ? 'The requested amount' : 'The authorized amount'),
    currency: z.string(),
    status: z.enum(HOLD_CHANGE_STATUSES).meta({ description: '`pending` means that the outcome is not known yet.' }),
    reason: z.string().nullable().meta({ description: '`expired` when Payonce voided an old authorization.' }),
    failure: z.looseObject({ code: z.string(), message: z.string() }).nullable(),
    created: unixSeconds,
    livemode: z.boolean(),
  });

export const captureOf = holdChange('capture', 'cap').meta({ id: 'Capture' });
export const capturesOfPayment = partList(captureOf).meta({ id: 'CapturesOfPayment' });
export const cancellationOf = holdChange('cancellation', 'can').meta({ id: 'Cancellation' });
export const cancellationsOfPayment = partList(cancellationOf).meta({ id: 'CancellationsOfPayment' });

export const key = z
  .looseObject({
    id: z.string().regex(KEY_ID).meta({ example: 'key_k3jx5aqhz4m2nrb7' }),
    object: z.literal('key'),
    name: z.string().meta({ description: 'The purpose of a tenant’s key, or the name of the operator.' }),
    role: z.enum(ROLES).nullable().meta({ description: 'Null for the key of a tenant.' }),
    tenant: z.string().nullable().meta({ description: 'Null for the key of an operator.' }),
    mode: z.enum(['test', 'live']).nullable(),
    scopes: z.array(z.string()),
    hint: z.string().meta({ description: 'The last four characters of the key.' }),
    created: unixSeconds,
    last_used: z.string().nullable().meta({ description: 'The day of the last use, in UTC.', example: '2026-03-01' }),
    expires: unixSeconds.nullable(),
    revoked: unixSeconds.nullable(),
    rolled_to: z.string().nullable().meta({ description: 'The id of the key that has replaced it.' }),
  })
  .meta({ id: 'Key' });

export const keyWithSecret = key
  .extend({
    secret: z.string().nullable().meta({
      description: 'The key itself, in the first answer only. It is not stored, so a repeated request shows null.',
    }),
  })
  .meta({ id: 'KeyWithSecret' });

export const keyList = z
  .looseObject({ object: z.literal('list'), data: z.array(key), has_more: z.boolean() })
  .meta({ id: 'KeyList' });

export const limit = z
  .looseObject({
    object: z.literal('limit'),
    tenant: z.string(),
    mode: z.enum(['test', 'live']),
    kind: z.enum(LIMIT_KINDS).meta({ description: 'The kind of request. Each kind has a separate limit.' }),
    rate: z.int().meta({ description: 'Requests per second.' }),
    burst: z.int().meta({ description: 'Maximum burst of requests after a pause.' }),
    is_own: z
      .boolean()
      .meta({ description: 'Whether the tenant has a limit of its own; false for the limit of the deployment.' }),
  })
  .meta({ id: 'Limit' });

export const limitList = z
  .looseObject({ object: z.literal('list'), data: z.array(limit), has_more: z.boolean() })
  .meta({ id: 'LimitList' });

export const dryRun = z
  .looseObject({
    object: z.literal('dry_run'),
    payment: paymentId,
    type: z.enum(TRANSITION_TYPES).meta({ description: 'The transition that would be appended.' }),
    payment_status: z.enum(PAYMENT_STATUSES).meta({ description: 'The status of the payment after it.' }),
    needs_approval: z
      .boolean()
      .meta({ description: 'Whether the request would wait for the approval of a second person.' }),
    postings: z.array(posting).meta({ description: 'Debits equal credits in every currency.' }),
    balances: z
      .array(
        z.looseObject({
          account,
          currency: z.string(),
          normal_balance: z.enum(['debit', 'credit']),
          before: z.int(),
          after: z.int(),
        }),
      )
      .meta({ description: 'The balances of this payment only, in minor units, in the direction of each account.' }),
  })
  .meta({ id: 'DryRun' });

export const mismatch = z
  .looseObject({
    id: z.string().regex(MISMATCH_ID).meta({ example: 'mis_mm7d0qo0_k3jx5aqhz4m2nrb7vwy6t5ocde' }),
    object: z.literal('mismatch'),
    tenant: z.string().nullable().meta({ description: 'Null when the payment does not exist.' }),
    mode: z.enum(['test', 'live']).nullable(),
    payment: z.string().nullable().meta({
      description: 'The payment id in the charge’s metadata, even if that payment does not exist; null without one.',
    }),
    payment_status: z.enum(PAYMENT_STATUSES).nullable().meta({ description: 'Null when the payment does not exist.' }),
    currency: z.string(),
    processor_amount: z.int().meta({
      description:
        'By the processor’s list: captured, less refunds that succeeded, less disputes that are open or lost, over all ' +
        'charges with the payment’s id; before fees. For `fees_differ`: its fees for the charge, its refunds and disputes. ' +
        'In minor units.',
    }),
    ledger_amount: z.int().meta({
      description:
        'By the Ledger: debits less credits of `processor_clearing` over all transitions of the payment, corrections ' +
        'included, fees excluded. For `fees_differ`: the posted fees. In minor units.',
    }),
    difference: z.int().meta({ description: '`processor_amount` less `ledger_amount`.' }),
    charges: z.array(z.string()).meta({ description: 'The charges at the processor, in this currency.' }),
    kind: z.enum(MISMATCH_KINDS).meta({
      description:
        '`missing_in_ledger`: the Ledger has no posting. `missing_at_processor`: no charge there has captured money. ' +
        '`amounts_differ`: both have the money, with different amounts. ' +
        '`charges_differ`: the totals agree, but the amounts of the listed charges do not; their differences cancel each other out. ' +
        '`fees_differ`: the amounts agree, but the processor’s fees do not.',
    }),
    processor: z
      .object({
        name: z.string(),
        mode: z.enum(['test', 'live']).meta({ description: 'The mode of its books.' }),
        account: z.string().meta({ description: 'At the processor.' }),
      })
      .meta({ description: 'The processor whose books differ.' }),
    status: z.enum(['suspected', 'confirmed']).meta({
      description:
        '`suspected`: seen once; it disappears at the next comparison if the payment was just changing. `confirmed`: the books ' +
        'have differed by the same amount for at least ten minutes, and an alarm was raised.',
    }),
    first_seen: unixSeconds,
    last_seen: unixSeconds,
  })
  .meta({ id: 'Mismatch' });

export const mismatchList = z
  .looseObject({
    object: z.literal('list'),
    data: z.array(mismatch).meta({ description: 'Newest payment first.' }),
    has_more: z.boolean(),
  })
  .meta({ id: 'MismatchList' });

export const actor = z
  .discriminatedUnion('type', [
    byRequest,
    byOperator,
    z.looseObject({ type: z.literal('command'), operator: z.string() }),
    z.looseObject({ type: z.literal('start') }),
  ])
  .meta({
    id: 'Actor',
    description:
      'The actor. `command`: the user of the command line of the deployment. `start`: a function that started.',
  });

export const activity = z
  .looseObject({
    id: z.string().regex(ACTIVITY_ID),
    object: z.literal('activity'),
    sequence: z.int().min(1).meta({ description: 'The place in the chain, from 1, without gaps.' }),
    action: z.enum(ACTIONS),
    caused_by: actor,
    about: z
      .array(z.string())
      .meta({ description: 'The ids of the affected objects, most specific first: a correction and its payment.' }),
    details: z.record(z.string(), z.string()),
    created: unixSeconds,
  })
  .meta({ id: 'Activity' });

export const activityList = z
  .looseObject({
    object: z.literal('list'),
    data: z.array(activity).meta({ description: 'Newest first.' }),
    has_more: z.boolean(),
  })
  .meta({ id: 'ActivityList' });

const codes = z.enum(Object.keys(PROBLEMS));

export const problem = z
  .looseObject({
    type: z.literal('about:blank'),
    title: z.string(),
    status: z.int(),
    code: codes.meta({ description: 'Stable. Programs should decide by this member only.' }),
    detail: z.string().meta({ description: 'For people; may change.' }),
    param: z.string().optional().meta({ description: 'The field at fault.', example: 'metadata.order' }),
    request_id: z.string(),
    payment_id: z.string().optional().meta({ description: 'The conflicting payment.' }),
    payment_status: z
      .enum(PAYMENT_STATUSES)
      .optional()
      .meta({ description: 'The status that does not allow the change.' }),
    decidable_from: z
      .int()
      .optional()
      .meta({ description: 'The time from which an operator may decide the change; Unix seconds.' }),
    amount_left: shownAmount('What is left').optional(),
    processor_amount: shownAmount('The amount that the processor shows as captured, held or refunded').optional(),
    processor_currency: z
      .string()
      .optional()
      .meta({ description: 'The currency of `processor_amount`.', example: 'EUR' }),
    payment: payment
      .optional()
      .meta({ description: 'The payment that failed or was canceled; after a failed change, the unchanged payment.' }),
    refund: refund.optional().meta({ description: 'The refund that failed.' }),
    order: order.optional().meta({ description: 'The order that was canceled.' }),
    order_id: z.string().optional().meta({ description: 'The conflicting order.' }),
    correction_id: z.string().optional().meta({ description: 'The conflicting correction.' }),
  })
  .meta({ id: 'Problem', description: 'RFC 9457.' });
