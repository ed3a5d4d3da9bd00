import * as z from 'zod';
import { HOLD_CHANGE_STATUSES } from '../domain/change-answer.ts';
import { ACCOUNTS } from '../domain/posting.ts';
import { dispute, payment, refund, shownAmount, shownFee, unixSeconds } from './payment-objects.ts';

/** Objects are open: a client must ignore unknown fields. */

export const partList = (part: z.ZodType) =>
  z.looseObject({
    object: z.literal('list'),
    data: z.array(part).meta({ description: 'In the order in which they were recorded.' }),
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

export const byRequest = z.looseObject({ type: z.literal('request'), request_id: requestId, api_key: apiKey });

export const byOperator = z.looseObject({
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
    reason: z
      .string()
      .nullable()
      .meta({ description: 'The reason given for this subject. Null if none was given, or after its erasure.' }),
    reverses: z.int().min(1).exactOptional().meta({
      description: 'The sequence of the transition whose postings the correction reversed. Omitted otherwise.',
    }),
  })
  .nullable()
  .meta({
    description:
      'The subject of the transition besides the payment: a capture, cancellation, refund, dispute, stray charge, correction, decision or annotation.',
  });

const transition = z
  .looseObject({
    sequence: z.int().min(1).meta({ description: 'Position in the chain, starting at 1, without gaps.' }),
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
    has_more: z.boolean().meta({ description: 'Whether more transitions follow the last one of this page.' }),
  })
  .meta({ id: 'TransitionList' });

export const account = z.enum(ACCOUNTS).meta({
  description:
    '`processor_clearing`: money that the processor holds for you. `merchant_payable`: money captured for you. `refunds`, ' +
    '`fees`, `disputes`: money refunded, deducted by the processor, or withdrawn by banks. `late_receipts`: money ' +
    'of unexpected charges, owed to the payer. `corrections`: the contra account of operators’ corrections.',
});

const holdChange = (what: 'capture' | 'cancellation', prefix: string) =>
  z.looseObject({
    id: z
      .string()
      .regex(new RegExp(`^${prefix}_[a-z2-7]{58}$`))
      .meta({ example: `${prefix}_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp2wq7hzd4ynrk5xcb3tmvja6ofe` }),
    object: z.literal(what),
    payment: payment.shape.id,
    amount: shownAmount(what === 'capture' ? 'The requested amount' : 'The authorized amount'),
    currency: z.string(),
    status: z.enum(HOLD_CHANGE_STATUSES).meta({ description: '`pending` means that the outcome is not known yet.' }),
    reason: z
      .string()
      .nullable()
      .meta({ description: '`expired` when Payonce voided an authorization that was not captured in time.' }),
    request: z
      .looseObject({
        operator: z.string(),
        reason: z.string().nullable(),
        details_erased: z.literal(true).exactOptional().meta({ description: 'The reason was erased.' }),
      })
      .exactOptional()
      .meta({
        description: 'The operator who requested the change, with the reason. Omitted if the tenant requested it.',
      }),
    failure: z.looseObject({ code: z.string(), message: z.string() }).nullable(),
    created: unixSeconds,
    livemode: z.boolean(),
  });

export const captureOf = holdChange('capture', 'cap').meta({ id: 'Capture' });

export const capturesOfPayment = partList(captureOf).meta({ id: 'CapturesOfPayment' });

export const cancellationOf = holdChange('cancellation', 'can').meta({ id: 'Cancellation' });

export const cancellationsOfPayment = partList(cancellationOf).meta({ id: 'CancellationsOfPayment' });

const minor = (what: string) =>
  z
    .int()
    .min(0)
    .meta({ description: `${what}, in minor units.` });

/** A refund by Payonce has the id of its operation. */
const atProcessor = z.array(z.looseObject({ id: z.string(), status: z.string(), amount: minor('The amount') }));

const charge = z
  .looseObject({
    id: z.string().meta({ description: 'The id at the processor.', example: 'ch_k3jx5aqhz4m2' }),
    object: z.literal('charge'),
    processor: z.string().meta({ description: 'The name of the processor.' }),
    own: z.boolean().meta({ description: 'Whether the request for this payment created the charge.' }),
    status: z.enum(['pending', 'requires_action', 'authorized', 'succeeded', 'declined', 'voided']),
    amount: minor('The requested amount'),
    amount_captured: minor('The captured amount'),
    currency: z.string(),
    fee: shownFee('The processor’s fees for the charge, its refunds and disputes, in the charge’s currency').nullable(),
    other_fees: z
      .array(z.looseObject({ amount: shownFee('The fee'), currency: z.string() }))
      .exactOptional()
      .meta({ description: 'The fees in other currencies. Omitted when there are none.' }),
    failure: z.looseObject({ code: z.string(), message: z.string() }).nullable(),
    refunds: atProcessor,
    disputes: atProcessor,
    created: z.int().meta({ description: 'Unix time in seconds.' }),
  })
  .meta({ id: 'Charge' });

export const chargeList = z
  .looseObject({
    object: z.literal('list'),
    data: z.array(charge).meta({ description: 'All charges with the payment’s id in their metadata, oldest first.' }),
    has_more: z.literal(false),
  })
  .meta({ id: 'ChargeList' });

const REQUEST_STATUSES = ['pending', 'completed', 'failed'] as const;
export type RequestStatus = (typeof REQUEST_STATUSES)[number];

export const paymentRequest = z
  .looseObject({
    id: z.uuid(),
    object: z.literal('payment_request'),
    livemode: z.boolean(),
    status: z.enum(REQUEST_STATUSES).meta({
      description:
        '`completed`: the payment has an outcome, also a decline, or is `processing`. `failed`: nothing was sent to the processor; the next delivery retries.',
    }),
    changed: z.int().nullable().meta({
      description:
        'Time of the last status change, in Unix seconds. Null after the record of the event has expired, by default after 7 days.',
    }),
    payment: payment.shape.id,
  })
  .meta({ id: 'PaymentRequest' });

export const NO_PROCESSOR = ['livemode_not_available', 'no_processor_for_payment', 'no_processor_configured'] as const;

export const paymentPath = z.object({ id: payment.shape.id.meta({ description: 'The id of the payment.' }) });
