import { defined } from '../../kernel/defined.ts';
import type { Digest } from '../../kernel/digest.ts';
import { base32 } from '../../kernel/digest.ts';
import type { Mode, OrderId, PaymentId, TenantId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import { isOrderOutcome, type Order, type OrderOutcomeType } from '../../orders/domain/order.ts';
import { orderObject } from '../../orders/domain/order-answer.ts';
import type { OrderDetails, OrderTransition } from '../../orders/domain/order-transition.ts';
import { refundObject } from '../../payments/domain/change-answer.ts';
import type { Payment } from '../../payments/domain/payment.ts';
import { disputeObject, isOutcome, type OutcomeType, paymentObject } from '../../payments/domain/payment.ts';
import type { Posting } from '../../payments/domain/posting.ts';
import type { FirstDetails, OutcomePlace, Transition } from '../../payments/domain/transition.ts';
import type { ChainId } from '../../payments/ids.ts';
import { type ENDPOINT_EVENTS, type EventName, PUBLIC_EVENTS, type TypeOfEvent } from '../contract.ts';

/** The types of events that merchants receive. */
export type PublicEventType = TypeOfEvent<(typeof PUBLIC_EVENTS)[number]>;
export const PUBLIC_EVENT_TYPES: readonly PublicEventType[] = PUBLIC_EVENTS.map(typeOfEvent);

export const EVENT_VERSION = 1;

export function typeOfEvent<Name extends EventName>(name: Name): TypeOfEvent<Name> {
  return name.slice(0, name.lastIndexOf('.v')) as TypeOfEvent<Name>;
}

export function nameOfEvent<Type extends TypeOfEvent>({
  type,
  version,
}: Pick<EventObject<Type>, 'type' | 'version'>): `${Type}.v${typeof EVENT_VERSION}` {
  return `${type}.v${version}`;
}

/** An event as merchants receive it, and as `GET /v1/events/{id}` returns it. */
export interface EventObject<Type extends TypeOfEvent = TypeOfEvent> {
  /** Derived from the transition, or from the endpoint's change of state, so every publication has the same id. */
  readonly id: string;
  readonly object: 'event';
  readonly type: Type;
  readonly version: typeof EVENT_VERSION;
  /** Unix seconds. */
  readonly created: number;
  /**
   * Sequence of the transition in the chain of its payment or order, or of the change of state of its endpoint. Sort
   * the events of one object by this number, not by their arrival.
   */
  readonly sequence: number;
  readonly livemode: boolean;
  /** The `event_id` of the event that requested the payment. Absent for a payment that was requested over HTTP. */
  readonly causation_id?: string;
  /** The object that the event is about: an order, a refund, a dispute, a webhook endpoint, or else the payment. */
  readonly data: { readonly object: Readonly<Record<string, unknown>> };
}

interface PublishedEvent<Type extends TypeOfEvent> {
  readonly tenant: TenantId;
  readonly mode: Mode;
  readonly occurredAtMs: number;
  readonly event: EventObject<Type>;
}

export interface PaymentEvent extends PublishedEvent<OutcomeType> {
  /** The payment after the transition, as the API shows it. */
  readonly payment: Readonly<Record<string, unknown>> & { readonly id: string };
  readonly postings: readonly Posting[];
}

/** An event about an order. Its object is the order after the transition, as the API shows it. */
export interface OrderEvent extends PublishedEvent<OrderOutcomeType> {
  readonly order: { readonly id: string };
}

/**
 * An event of a payment or an order on the bus: the merchant's event, and further fields for Payonce's own consumers.
 * All values are JSON.
 */
export type PayonceEvent = PaymentEvent | OrderEvent;

export type EndpointEventType = TypeOfEvent<(typeof ENDPOINT_EVENTS)[number]>;

/** An event of a webhook endpoint. It is derived from no transition, so it is not in the Ledger. */
export type EndpointEvent = PublishedEvent<EndpointEventType>;

export type AnyEvent = PayonceEvent | EndpointEvent;

/** @param first the details that are stored only in the payment's first transition */
export function eventOf(digest: Digest, transition: Transition, first: FirstDetails): PaymentEvent {
  const { payment, type, postings } = transition;
  invariant(isOutcome(type), `${type} is not an outcome`);
  const object = paymentObject(payment, first);
  return {
    ...published(digest, payment, { ...transition, type }, subjectObject(transition) ?? object, first.causationId),
    payment: { ...object, id: payment.id },
    postings,
  };
}

export function orderEventOf(digest: Digest, transition: OrderTransition, details: OrderDetails): OrderEvent {
  const { order, type } = transition;
  invariant(isOrderOutcome(type), `${type} is not an outcome`);
  return {
    ...published(digest, order, { ...transition, type }, orderObject(order, details)),
    order: { id: order.id },
  };
}

function published<Type extends TypeOfEvent>(
  digest: Digest,
  { id, tenantId, mode }: Pick<Payment | Order, 'id' | 'tenantId' | 'mode'>,
  { type, sequence, occurredAtMs }: Pick<EventObject<Type>, 'type' | 'sequence'> & { readonly occurredAtMs: number },
  object: Readonly<Record<string, unknown>>,
  causationId?: string,
): PublishedEvent<Type> {
  return {
    tenant: tenantId,
    mode,
    occurredAtMs,
    event: {
      id: eventId(digest, id, sequence),
      object: 'event',
      type,
      version: EVENT_VERSION,
      created: Math.floor(occurredAtMs / 1000),
      sequence,
      livemode: mode === 'live',
      ...defined({ causation_id: causationId }),
      data: { object },
    },
  };
}

const EVENT_LETTERS = 10;
export const EVENT_ID = /^evt_(?<chain>(?:ord_)?)(?<letters>[a-z2-7]{32})(?<sequence>\d{6})[a-z2-7]{10}$/;

/**
 * The id contains the id of the payment or the order and the sequence, so that no index is needed. A checksum detects
 * typing errors. Ids of orders' events begin with `evt_ord_`.
 */
export function eventId(digest: Digest, id: ChainId, sequence: number): string {
  const place = `${id.replace('pay_', '')}${String(sequence).padStart(6, '0')}`;
  const check = base32(digest.sha256(JSON.stringify(['event', place]))).slice(0, EVENT_LETTERS);
  return `evt_${place}${check}`;
}

export function parseEventId(text: string): OutcomePlace | undefined {
  const { chain, letters, sequence: digits } = EVENT_ID.exec(text)?.groups ?? {};
  const sequence = Number(digits);
  if (letters === undefined || sequence < 1) return undefined;
  return chain === ''
    ? { paymentId: `pay_${letters}` as PaymentId, sequence }
    : { orderId: `ord_${letters}` as OrderId, sequence };
}

function subjectObject({ subject, payment }: Transition): Readonly<Record<string, unknown>> | undefined {
  if (subject?.kind === 'refund') return refundObject(subject, payment);
  return subject?.kind === 'dispute' ? disputeObject(subject, payment) : undefined;
}
