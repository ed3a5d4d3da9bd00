import * as z from 'zod';
import { type EventSource, id, otherMode, type ReadEvent, readEventBody, unreadable } from '../event-body.ts';

/** Unknown fields are ignored: Stripe may add fields at any time. */
const stripeEvent = z.object({
  id,
  object: z.literal('event'),
  type: z.string().regex(/^[a-z0-9_.]{1,100}$/, 'must be an event type'),
  livemode: z.boolean(),
  data: z.object({ object: z.unknown() }),
});

const aboutIntent = z.object({
  data: z.object({ object: z.object({ object: z.literal('payment_intent'), id }) }),
});

/** A charge whose `payment_intent` is null has no intent, and Payonce did not create it. */
const aboutPart = z.object({
  data: z.object({
    object: z.object({ object: z.enum(['charge', 'refund', 'dispute']), payment_intent: id.nullable() }),
  }),
});

/** Parses the body of a callback whose signature was verified. */
export function readStripeEvent(source: EventSource, body: Uint8Array): ReadEvent {
  const parsed = readEventBody(body);
  if (parsed.kind === 'unreadable') return parsed;
  const read = stripeEvent.safeParse(parsed.value);
  if (!read.success) return unreadable(read.error);
  const { id: eventId, type, livemode } = read.data;
  if (livemode !== (source.mode === 'live')) return otherMode(livemode, source);
  const found = intentOf(type, parsed.value);
  if (found === undefined) return { kind: 'ignored', type };
  if (!found.success) return unreadable(found.error);
  if (found.data === null) return { kind: 'ignored', type };
  return { kind: 'event', event: { ...source, eventId, type, chargeId: found.data } };
}

/** @returns undefined if events of this type never change a payment */
function intentOf(type: string, event: unknown): z.ZodSafeParseResult<string | null> | undefined {
  if (type.startsWith('payment_intent.')) {
    return aboutIntent.transform(({ data }) => data.object.id as string | null).safeParse(event);
  }
  if (PART_TYPES.some((prefix) => type.startsWith(prefix))) {
    return aboutPart.transform(({ data }) => data.object.payment_intent).safeParse(event);
  }
  return undefined;
}

/**
 * Prefixes of the event types `charge.refunded`, `charge.refund.updated`, `charge.dispute.…`, `refund.…` and
 * `charge.updated`. If Stripe books the fee after the charge has succeeded, it sends only `charge.updated`. Other
 * `charge.…` events are ignored, because Stripe also sends a `payment_intent.…` event for them.
 */
const PART_TYPES = ['charge.refund', 'charge.updated', 'charge.dispute.', 'refund.'];
