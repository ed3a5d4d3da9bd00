import * as z from 'zod';
import { defined } from '../../kernel/defined.ts';
import { parsePaymentId } from '../../payments/ids.ts';
import { type EventSource, id, otherMode, type ReadEvent, readEventBody, unreadable } from '../event-body.ts';
import { EVENT_TYPES, type SandboxEvent } from './sandbox-api.ts';

/** Unknown fields are ignored: the processor may add fields at any time. */
const sandboxEvent = z.object({
  id,
  object: z.literal('event'),
  type: z.enum(EVENT_TYPES),
  livemode: z.boolean(),
  created: z.int(),
  data: z.object({
    charge: id,
    payment: z.string().nullable(),
    refund: id.exactOptional(),
    dispute: id.exactOptional(),
  }),
}) satisfies z.ZodType<SandboxEvent>;

/** Parses the body of a callback whose signature was verified. */
export function readSandboxEvent(source: EventSource, body: Uint8Array): ReadEvent {
  const read = readEventBody(body);
  if (read.kind === 'unreadable') return read;
  const checked = sandboxEvent.safeParse(read.value);
  if (!checked.success) return unreadable(checked.error);
  const { id: eventId, type, livemode, data } = checked.data;
  if (livemode !== (source.mode === 'live')) return otherMode(livemode, source);
  const paymentId = parsePaymentId(data.payment ?? '');
  const named = defined({ paymentId });
  return { kind: 'event', event: { ...source, eventId, type, chargeId: data.charge, ...named } };
}
