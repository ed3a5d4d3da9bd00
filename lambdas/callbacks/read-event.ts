import * as z from 'zod';
import type { CallbackEvent } from '../app/ports/effect-store.ts';
import { EVENT_TYPES, type SandboxEvent } from '../contract/sandbox-api.ts';
import { parsePaymentId } from '../core/ids.ts';

/** Of an event's and a charge's id: what fits into a key and is no surprise in a log. */
const id = z.string().regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 visible ASCII characters');

/** Unknown fields are passed over: a processor may add some at any time. */
const sandboxEvent = z.object({
  id,
  object: z.literal('event'),
  type: z.enum(EVENT_TYPES),
  created: z.int(),
  data: z.object({
    charge: id,
    payment: z.string().nullable(),
    refund: id.exactOptional(),
    dispute: id.exactOptional(),
  }),
}) satisfies z.ZodType<SandboxEvent>;

export type ReadEvent =
  | { readonly kind: 'event'; readonly event: CallbackEvent }
  | { readonly kind: 'unreadable'; readonly param?: string; readonly detail: string };

/** Reads a body whose signature is good. A byte-order mark that was signed with it is passed over. */
export function readEvent(processorName: string, body: Uint8Array): ReadEvent {
  const parsed = parseJson(body);
  if (parsed === undefined) return { kind: 'unreadable', detail: 'The body must be JSON in UTF-8.' };
  const checked = sandboxEvent.safeParse(parsed.value);
  if (!checked.success) {
    const [issue] = checked.error.issues;
    const param = issue?.path.join('.') ?? '';
    const detail = `${param === '' ? 'The body' : param} is not that of an event: ${issue?.message ?? 'it is not valid'}.`;
    return param === '' ? { kind: 'unreadable', detail } : { kind: 'unreadable', param, detail };
  }
  const { id: eventId, type, data } = checked.data;
  const paymentId = parsePaymentId(data.payment ?? '');
  const named = paymentId === undefined ? {} : { paymentId };
  return { kind: 'event', event: { processorName, eventId, type, chargeId: data.charge, ...named } };
}

function parseJson(body: Uint8Array): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) };
  } catch {
    return undefined;
  }
}
