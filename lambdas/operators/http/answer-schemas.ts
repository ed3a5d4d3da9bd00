import * as z from 'zod';
import { ACTIONS } from '../../activity/domain/activity.ts';
import { described } from '../../http/validate.ts';
import { ROLES } from '../../kernel/contract/api.ts';
import { PAYMENT_STATUSES, TRANSITION_TYPES } from '../../payments/domain/payment.ts';
import { causedBy, posting, transitionSubject } from '../../payments/http/payment-answers.ts';
import { shownAmount, unixSeconds } from '../../payments/http/payment-objects.ts';
import { APPROVAL_ID, REJECTION_REASONS } from '../domain/approval.ts';
import { QUEUES } from '../use/queue-lists.ts';
import { MESSAGE_DISMISSAL_REASONS } from '../use/redrive-queue.ts';
import { actor } from './activity-answers.ts';
import { TENANT_ID } from './ledger-schemas.ts';

/* Schemas of the responses to operators, for the API documentation. */

const person = z
  .looseObject({
    operator: z.string().meta({ description: 'The name of the operator.' }),
    identity: z
      .string()
      .meta({ description: 'The id of the operator’s key, or the subject at the identity provider.' }),
  })
  .meta({ id: 'OperatorPerson' });

export const operatorSelf = z
  .looseObject({
    object: z.literal('operator'),
    ...person.shape,
    role: z.enum(ROLES),
  })
  .meta({ id: 'OperatorSelf' });

export const NEEDS_APPROVAL =
  'The amount is above the limit of the deployment, so nothing was executed: a second person must approve the request.';

/** Problem codes of the comparison of a decision with the processor’s books. */
export const NOT_AS_SHOWN = [
  'charge_unknown_at_processor',
  'amount_differs_from_processor',
  'processor_books_unreadable',
  'override_not_allowed',
] as const;

export const approval = z
  .looseObject({
    id: z.string().regex(APPROVAL_ID).meta({ example: 'apr_mm7d0qo0_k3jx5aqhz4m2nrb7vwy6t5ocde' }),
    object: z.literal('approval'),
    status: z.enum(['pending_approval', 'approved', 'rejected', 'expired']),
    tenant: z.string(),
    mode: z.enum(['test', 'live']),
    payment: z.string(),
    request: z
      .discriminatedUnion('type', [
        z.looseObject({ type: z.literal('correction'), reverses: z.int().nullable() }),
        z.looseObject({
          type: z.literal('decision'),
          outcome: z.enum(['succeeded', 'failed']),
          change: z.string().nullable(),
          charge_id: z.string().nullable(),
          amount: z.int().nullable(),
          override: z.boolean(),
        }),
        ...(['refund', 'capture', 'cancel'] as const).map((type) =>
          z.looseObject({ type: z.literal(type), amount: shownAmount('The amount of the change') }),
        ),
      ])
      .meta({ id: 'ApprovalRequest', description: 'The operator’s request, with its fields.' }),
    amount: shownAmount('The amount that was compared with the limit'),
    currency: z.string(),
    reason: z.string().nullable(),
    details_erased: z.literal(true).optional().meta({ description: 'Present after the reason was erased.' }),
    effect: z
      .looseObject({
        id: z
          .string()
          .meta({ description: 'The id of the correction, decision or change. Known before the request is approved.' }),
        type: z.enum(TRANSITION_TYPES),
        payment_status: z
          .enum(PAYMENT_STATUSES)
          .meta({ description: 'The payment’s status after the request is executed.' }),
        postings: z.array(posting).meta({ description: 'Debits equal credits in every currency.' }),
      })
      .meta({
        id: 'ApprovalEffect',
        description:
          'The transition that an approval appends. If the request would have a different effect at the time of the approval, the approval is refused.',
      }),
    requested_by: person,
    decided_by: person.nullable(),
    decided: unixSeconds.nullable(),
    verdict_reason: z.enum(REJECTION_REASONS).nullable(),
    created: unixSeconds,
    expires: unixSeconds.meta({
      description: 'Approvals and rejections are accepted until a minute before this time.',
    }),
  })
  .meta({ id: 'Approval' });

export const approvalPath = z.object({ id: approval.shape.id.meta({ description: 'The id of the approval.' }) });

export const approvalList = z
  .looseObject({
    object: z.literal('list'),
    data: z.array(approval).meta({ description: 'Newest first.' }),
    has_more: z.boolean(),
    approval_above: z
      .record(z.string(), z.int().min(0))
      .nullable()
      .meta({
        description:
          'The limit in minor units by currency, with `*` for all other currencies. Null if no request needs an approval.',
        example: { EUR: 50000 },
      }),
  })
  .meta({ id: 'ApprovalList' });

const listOf = (item: z.ZodType, what: string) =>
  z.looseObject({
    object: z.literal('list'),
    data: z.array(item).meta({ description: what }),
    has_more: z.boolean(),
  });

const tenant = z
  .looseObject({
    id: z.string().regex(TENANT_ID).meta({ example: 'ten_k3jx5aqhz4m2nrb7' }),
    object: z.literal('tenant'),
    name: z.string(),
    created: unixSeconds,
  })
  .meta({ id: 'Tenant' });
export const tenantList = listOf(tenant, 'Sorted by id.').meta({ id: 'TenantList' });

const QUEUE_ID = /^[A-Za-z][A-Za-z0-9_-]{0,127}$/;
const ofWork = Object.keys(QUEUES);

const queueId = z
  .string()
  .regex(QUEUE_ID)
  .meta({
    description: `One of ${ofWork.map((name) => `\`${name}\``).join(', ')}, or the name of an Amazon SQS queue, as shown on the dashboard.`,
    example: 'holds',
  });

const queue = z
  .looseObject({
    id: queueId,
    object: z.literal('queue'),
    description: z.string(),
    job: z
      .string()
      .nullable()
      .meta({ description: 'The job whose runs report the number of entries as `left`; null when there is none.' }),
    is_kept: z.boolean().meta({
      description: 'True if no function receives the messages of the queue: they wait for an operator.',
    }),
    redrive_to: z.string().nullable().meta({
      description: 'The queue or function that processes redriven messages. Null when a redrive is not possible.',
    }),
    no_redrive_because: z.string().nullable().meta({
      description: 'Why a redrive is not possible, and what to do instead. Null when a redrive is possible.',
    }),
    no_dismissal_because: z.string().nullable().meta({
      description: 'Why messages cannot be dismissed. Null when they can be dismissed.',
    }),
    can_dismiss_all: z.boolean().meta({
      description:
        'Whether one request can dismiss all messages about jobs of this deployment. True for missed runs, because a later run does their work.',
    }),
    waiting: z.int().min(0).nullable().meta({
      description:
        'The number of entries; a lower bound if `more_waiting` is true. Approximate for Amazon SQS queues. Null if the queue cannot be read now.',
    }),
    more_waiting: z.boolean().meta({ description: 'Whether there may be more entries than `waiting`.' }),
    oldest_age: z.int().nullable().meta({
      description:
        'The age of the oldest counted entry, in seconds. Null for a message queue: only the dashboard shows the age of its oldest message.',
    }),
  })
  .meta({ id: 'Queue' });
export const queueList = listOf(queue, 'All queues.').meta({ id: 'QueueList' });

export const redrive = z
  .looseObject({
    object: z.literal('redrive'),
    queue: queueId,
    entry: z.string().nullable().meta({
      description: 'The `id` of the entry, if the request named one. Null if the request redrives all entries.',
    }),
    to: z.string().meta({ description: 'The queue or function that the messages are moved to.' }),
    waiting: z.int().min(1).meta({ description: 'Approximate number of messages to redrive.' }),
    created: unixSeconds,
  })
  .meta({ id: 'Redrive' });

export const messageId = z.string().regex(/^[A-Za-z0-9-]{1,100}$/, 'must be the id of an entry of this queue');

export const messageDismissalReason = {
  description: '`done_otherwise`: the work was done in another way. `not_needed`: the work is no longer needed.',
};

export const messageDismissal = z
  .looseObject({
    object: z.literal('message_dismissal'),
    queue: queueId,
    entry: z.string().nullable().meta({
      description:
        'The `id` of the entry, if the request named one. Null if the request dismisses all messages about jobs of this deployment.',
    }),
    reason: z.enum(MESSAGE_DISMISSAL_REASONS).meta(messageDismissalReason),
    created: unixSeconds,
  })
  .meta({ id: 'MessageDismissal' });

const queueEntry = z
  .looseObject({
    id: z
      .string()
      .meta({ description: 'Identifies the entry by its position in the queue; for a message, the message id.' }),
    object: z.literal('queue_entry'),
    queue: queueId,
    about: z.string().nullable().meta({ description: 'The id of the payment or order; null when it is unknown.' }),
    part: z.string().nullable().meta({
      description:
        'The id of the operation or charge. For a call to a vendor, the vendor and the operation, for example `postmark email.send`.',
    }),
    callback: z
      .string()
      .nullable()
      .meta({ description: 'The id of the callback, for an entry of `unmatched_callbacks`.' }),
    processor: z.string().nullable().meta({ description: 'The processor that sent the callback.' }),
    mode: z.enum(['test', 'live']).nullable().meta({ description: 'The mode of the callback.' }),
    job: z.string().nullable().meta({
      description:
        'The job whose scheduled run was missed, for an entry of `Jobs-Missed`. Null for a job of another service.',
    }),
    scheduled_for: unixSeconds.nullable().meta({ description: 'The scheduled time of the missed run.' }),
    since: unixSeconds.nullable().meta({
      description: 'Time since which the entry has been waiting. Null when the row cannot be read.',
    }),
    age: z.int().nullable().meta({ description: 'Seconds.' }),
    needs_operator: z.boolean().meta({ description: 'Whether only an operator can resolve the entry.' }),
    reason: z.string().nullable().meta({
      description:
        'For a message: why it could not be processed, if its sender gave a reason. For other entries, `ended` means that the outcome of the change or authorization is known, and a job removes the entry; `other_program` means that the charge of the callback names no payment, and the entry expires.',
    }),
  })
  .meta({ id: 'QueueEntry' });
export const queueEntryList = listOf(queueEntry, 'In the order of the queue.').meta({ id: 'QueueEntryList' });
export const queuePath = z.object({
  id: queueId.meta({
    description: `One of ${ofWork.map((name) => `\`${name}\``).join(', ')}, or the name of a message queue with \`is_kept\`.`,
    example: 'holds',
  }),
});
export const redrivePath = z.object({
  id: z.string().meta({
    ...described({ type: 'string', pattern: QUEUE_ID.source, not: { enum: ofWork } }),
    description: 'The name of a message queue with `is_kept` in the list of queues.',
    example: 'Webhooks-Tasks-DeadLetters',
  }),
});

const timelineKinds = {
  transition: {
    type: z.enum(TRANSITION_TYPES),
    status: z.enum(PAYMENT_STATUSES).meta({ description: 'The status of the payment after the transition.' }),
    caused_by: causedBy,
    subject: transitionSubject,
    operator_reason: z.string().exactOptional().meta({
      description: 'The reason that the operator gave for a capture, a cancellation or the decision about a change.',
    }),
    requested_by: z.string().exactOptional().meta({
      description:
        'The name of the operator who requested this correction, decision, capture or cancellation, if another operator approved it. `caused_by` is the approver.',
    }),
    postings: z.array(posting),
  },
  claim: { operation: z.string(), owner: z.string() },
  takeover: {
    operation: z.string(),
    from_owner: z.string(),
    was_released: z.boolean().meta({
      description: 'True if the owner released the claim because it had sent nothing; false if its lease ended.',
    }),
  },
  call: {
    operation: z.string(),
    call: z.enum(['send', 'look']),
    result: z.string().meta({
      description:
        'The kind of the processor’s response, for example `succeeded`. `no_response`: the request may have taken effect. `not_sent`: the request has had no effect. `absent`: a look-up found nothing. `unavailable`: a look-up failed.',
    }),
    duration_ms: z.int(),
  },
  answer: { operation: z.string(), http_status: z.int() },
  open: {
    operation: z.string(),
    was_released: z
      .boolean()
      .meta({ description: 'Whether the owner released its claim because it had sent nothing.' }),
    lease_until: z.iso.datetime().nullable(),
  },
  callback: { event_id: z.string().meta({ description: 'The processor’s id of the event.' }) },
  event: { event_id: z.string(), type: z.enum(TRANSITION_TYPES) },
  delivery: {
    delivery: z.string(),
    endpoint: z.string(),
    event_id: z.string(),
    delivery_status: z.enum(['pending', 'delivered', 'failed', 'canceled']),
    http_status: z.int().nullable(),
    error: z.string().nullable(),
    duration_ms: z.int(),
  },
  alarm: { alarm: z.string() },
  act: { activity: z.string(), action: z.enum(ACTIONS), caused_by: actor, about: z.array(z.string()) },
};

const entryOf = <Kind extends keyof typeof timelineKinds>(kind: Kind, description: string) =>
  z
    .looseObject({
      object: z.literal('timeline_entry'),
      at: z.iso.datetime().meta({ description: 'RFC 3339, with milliseconds.' }),
      kind: z.literal(kind),
      sequence: z
        .int()
        .nullable()
        .meta({ description: 'The sequence of the related transition; null when there is none.' }),
      ...timelineKinds[kind],
    })
    .meta({ description });

export const timeline = z
  .looseObject({
    object: z.literal('timeline'),
    payment: z.string(),
    tenant: z.string(),
    livemode: z.boolean(),
    processor_abilities: z
      .object({ partial_captures: z.boolean(), refunds: z.boolean(), partial_refunds: z.boolean() })
      .nullable()
      .meta({
        description:
          'The optional abilities of the payment’s processor. Null if this deployment does not use that processor and account anymore.',
      }),
    data: z
      .array(
        z.discriminatedUnion('kind', [
          entryOf('transition', 'A row of the Ledger.'),
          entryOf(
            'claim',
            'A request claimed an operation. Until the lease ends, only this request may call the processor.',
          ),
          entryOf('takeover', 'Another request or a job took over the claim.'),
          entryOf('call', 'A call to the processor, by the owner that completed the operation.'),
          entryOf('answer', 'The response was stored. A repeated request gets the stored response.'),
          entryOf('open', 'The operation is not completed.'),
          entryOf('callback', 'A callback from the processor was accepted.'),
          entryOf(
            'event',
            'An event on the bus. If merchants receive events of this type, `GET /v1/events/{id}` returns it.',
          ),
          entryOf('delivery', 'An attempt to deliver a webhook.'),
          entryOf('alarm', 'An alarm that was raised.'),
          entryOf('act', 'An operator’s action that added no transition.'),
        ]),
      )
      .meta({ description: 'Oldest first.' }),
    has_more: z.boolean(),
    next_sequence: z
      .int()
      .nullable()
      .meta({ description: 'The `starting_after` of the next page. Null on the last page.' }),
  })
  .meta({ id: 'Timeline' });
