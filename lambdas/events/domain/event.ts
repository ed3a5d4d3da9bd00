import type { Digest } from '../../kernel/digest.ts';
import { base32 } from '../../kernel/digest.ts';
import type { Mode, TenantId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import { refundObject } from '../../payments/domain/change-answer.ts';
import { disputeObject, isOutcome, paymentObject } from '../../payments/domain/payment.ts';
import type { Posting } from '../../payments/domain/posting.ts';
import type { FirstDetails, Transition } from '../../payments/domain/transition.ts';
import { type EventName, PUBLIC_EVENTS, type TypeOfEvent } from '../contract.ts';

/** The types of events that merchants receive. */
export type PublicEventType = TypeOfEvent<(typeof PUBLIC_EVENTS)[number]>;
export const PUBLIC_EVENT_TYPES: readonly PublicEventType[] = PUBLIC_EVENTS.map(typeOfEvent);

/** The version of events of every type. */
export const EVENT_VERSION = 1;

export function typeOfEvent<Name extends EventName>(name: Name): TypeOfEvent<Name> {
  return name.slice(0, name.lastIndexOf('.v')) as TypeOfEvent<Name>;
}

/** The name under which an event is published. */
export function nameOfEvent({ type, version }: Pick<EventObject, 'type' | 'version'>): EventName {
  return `${type}.v${version}` as const;
}

/** An event as merchants receive it, and as `GET /v1/events/{id}` returns it. */
export interface EventObject {
  /** Derived from the transition: the same for every publication. */
  readonly id: string;
  readonly object: 'event';
  readonly type: TypeOfEvent;
  readonly version: typeof EVENT_VERSION;
  /** Unix seconds. */
  readonly created: number;
  /** The sequence of the transition in its payment's chain. It defines the order of events; the order of arrival does not. */
  readonly sequence: number;
  readonly livemode: boolean;
  /** The refund or dispute that the event is about, otherwise the payment. */
  readonly data: { readonly object: Readonly<Record<string, unknown>> };
}

/** An event on the bus: the merchant's event, and further fields for Payonce's own consumers. All values are JSON. */
export interface PayonceEvent {
  readonly tenant: TenantId;
  readonly mode: Mode;
  /** Unix milliseconds. */
  readonly occurredAtMs: number;
  readonly event: EventObject;
  /** The payment after the transition, as the API shows it. */
  readonly payment: Readonly<Record<string, unknown>> & { readonly id: string };
  readonly postings: readonly Posting[];
}

/** @param first the details on the first transition of the same payment */
export function eventOf(digest: Digest, transition: Transition, first: FirstDetails): PayonceEvent {
  const { payment, sequence, type, occurredAtMs, postings } = transition;
  const object = paymentObject(payment, first);
  invariant(isOutcome(type), `${type} is not an outcome`);
  return {
    tenant: payment.tenantId,
    mode: payment.mode,
    occurredAtMs,
    event: {
      id: eventId(digest, transition),
      object: 'event',
      type,
      version: EVENT_VERSION,
      created: Math.floor(occurredAtMs / 1000),
      sequence,
      livemode: payment.mode === 'live',
      data: { object: subjectObject(transition) ?? object },
    },
    payment: { ...object, id: payment.id },
    postings,
  };
}

const EVENT_LETTERS = 10;
const EVENT_ID = /^evt_(?<payment>[a-z2-7]{32})(?<sequence>\d{6})[a-z2-7]{10}$/;

/** The id contains the payment's id and the sequence, so that no index is needed. A checksum detects typing errors. */
function eventId(digest: Digest, { payment, sequence }: Transition): string {
  const place = `${payment.id.slice('pay_'.length)}${String(sequence).padStart(6, '0')}`;
  const check = base32(digest.sha256(JSON.stringify(['event', place]))).slice(0, EVENT_LETTERS);
  return `evt_${place}${check}`;
}

/** @returns undefined when `text` does not have the form of an event id */
export function parseEventId(text: string): { readonly paymentId: string; readonly sequence: number } | undefined {
  const groups = EVENT_ID.exec(text)?.groups;
  if (groups?.['payment'] === undefined || groups['sequence'] === undefined) return undefined;
  return { paymentId: `pay_${groups['payment']}`, sequence: Number(groups['sequence']) };
}

function subjectObject({ subject, payment }: Transition): Readonly<Record<string, unknown>> | undefined {
  if (subject?.kind === 'refund') return refundObject(subject, payment);
  return subject?.kind === 'dispute' ? disputeObject(subject, payment) : undefined;
}
