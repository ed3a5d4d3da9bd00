import * as z from 'zod';
import type { Mode, TenantId } from '../../kernel/ids.ts';
import { order } from '../../orders/http/order-object.ts';
import { ACCOUNTS } from '../../payments/domain/posting.ts';
import { dispute, payment, refund } from '../../payments/http/payment-objects.ts';
import { type EventName, EventNames, type LedgerEventName, type TypeOfEvent } from '../contract.ts';
import { type AnyEvent, EVENT_VERSION, type EventObject, typeOfEvent } from '../domain/event.ts';

/**
 * The schemas of the events on the bus, by name. Later releases may add fields to a version, so objects are loose:
 * unknown fields pass through.
 */

const minorUnits = z.int().min(0);

const postings = z.array(
  z.object({
    account: z.enum(ACCOUNTS),
    direction: z.enum(['debit', 'credit']),
    amountMinor: minorUnits,
    currency: z.string(),
  }),
);

function publicEvent<Name extends EventName, Subject extends z.ZodType>(name: Name, object: Subject) {
  return z.object({
    tenant: z.string().transform((id) => id as TenantId),
    mode: z.enum(['test', 'live']).transform((mode): Mode => mode),
    occurredAtMs: z.int(),
    event: z.looseObject({
      id: z.string().min(1),
      object: z.literal('event'),
      type: z.literal(typeOfEvent(name)),
      version: z.literal(EVENT_VERSION),
      created: z.int(),
      sequence: z.int().min(1),
      livemode: z.boolean(),
      causation_id: z.string().exactOptional(),
      data: z.object({ object }),
    }),
  });
}

function paymentEvent<Name extends EventName, Subject extends z.ZodType>(name: Name, object: Subject) {
  return publicEvent(name, object).extend({ payment, postings });
}

function orderEvent<Name extends EventName>(name: Name) {
  return publicEvent(name, order).extend({ order: z.object({ id: z.string() }) });
}

const webhookEndpoint = z.looseObject({
  id: z.string(),
  object: z.literal('webhook_endpoint'),
  url: z.string(),
  enabled: z.boolean(),
  disabled: z.looseObject({ reason: z.string(), at: z.int() }).nullable(),
  failing_since: z.int().nullable(),
});

export const EventSchemas = {
  [EventNames.paymentProcessing]: paymentEvent(EventNames.paymentProcessing, payment),
  [EventNames.paymentRequiresAction]: paymentEvent(EventNames.paymentRequiresAction, payment),
  [EventNames.paymentAuthorized]: paymentEvent(EventNames.paymentAuthorized, payment),
  [EventNames.paymentCompleted]: paymentEvent(EventNames.paymentCompleted, payment),
  [EventNames.paymentFailed]: paymentEvent(EventNames.paymentFailed, payment),
  [EventNames.paymentCanceled]: paymentEvent(EventNames.paymentCanceled, payment),
  [EventNames.paymentReviewRequired]: paymentEvent(EventNames.paymentReviewRequired, payment),
  [EventNames.paymentLateSuccess]: paymentEvent(EventNames.paymentLateSuccess, payment),
  [EventNames.paymentFeeReported]: paymentEvent(EventNames.paymentFeeReported, payment),
  [EventNames.captureFailed]: paymentEvent(EventNames.captureFailed, payment),
  [EventNames.voidFailed]: paymentEvent(EventNames.voidFailed, payment),
  [EventNames.refundCompleted]: paymentEvent(EventNames.refundCompleted, refund),
  [EventNames.refundFailed]: paymentEvent(EventNames.refundFailed, refund),
  [EventNames.disputeOpened]: paymentEvent(EventNames.disputeOpened, dispute),
  [EventNames.disputeClosed]: paymentEvent(EventNames.disputeClosed, dispute),
  [EventNames.ledgerCorrected]: paymentEvent(EventNames.ledgerCorrected, payment),
  [EventNames.paymentAnnotated]: paymentEvent(EventNames.paymentAnnotated, payment),
  [EventNames.orderPlaced]: orderEvent(EventNames.orderPlaced),
  [EventNames.orderReopened]: orderEvent(EventNames.orderReopened),
  [EventNames.orderCompleted]: orderEvent(EventNames.orderCompleted),
  [EventNames.orderCanceled]: orderEvent(EventNames.orderCanceled),
  [EventNames.orderReviewRequired]: orderEvent(EventNames.orderReviewRequired),
  [EventNames.webhookEndpointFailing]: publicEvent(EventNames.webhookEndpointFailing, webhookEndpoint),
  [EventNames.webhookEndpointRecovered]: publicEvent(EventNames.webhookEndpointRecovered, webhookEndpoint),
  [EventNames.webhookEndpointDisabled]: publicEvent(EventNames.webhookEndpointDisabled, webhookEndpoint),
} as const satisfies Record<EventName, z.ZodType<AnyEvent>>;

type Content<Name extends EventName> = z.infer<(typeof EventSchemas)[Name]>;

/** A validated event of one of these names, as a consumer receives it. */
export type EventOf<Name extends EventName = EventName> = Name extends EventName
  ? Omit<Content<Name>, 'event'> & {
      readonly event: Omit<EventObject, 'type' | 'data'> & {
        readonly type: TypeOfEvent<Name>;
        readonly data: Content<Name>['event']['data'];
      };
    }
  : never;

export type PaymentEventOf = EventOf<Exclude<LedgerEventName, `order.${string}`>>;

export type ReadEvent<Name extends EventName> =
  | { readonly kind: 'event'; readonly event: EventOf<Name> }
  | { readonly kind: 'malformed'; readonly detail: string };

/** Parses the `detail` of an event. Never throws. */
export function readEvent<Name extends EventName>(name: Name, detail: unknown): ReadEvent<Name> {
  const read = EventSchemas[name].safeParse(detail);
  // The type is inferred from the schema.
  if (read.success) return { kind: 'event', event: read.data as unknown as EventOf<Name> };
  const [issue] = read.error.issues;
  // Name only the path of the field, because the field's value may be sensitive.
  return { kind: 'malformed', detail: `${issue?.path.join('.') || 'the event'}: ${issue?.message ?? 'is not valid'}` };
}
