import * as z from 'zod';
import type { CallbackEvent } from '../payments/use/effect-store.ts';

/** Schema of the id of an event or a charge: short enough for a key, and safe to log. */
export const id = z.string().regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 visible ASCII characters');

/** The processor that signed the callback, and the mode of the secret with which the signature was verified. */
export type EventSource = Pick<CallbackEvent, 'processorName' | 'mode'>;

export type ReadEvent =
  | { readonly kind: 'event'; readonly event: CallbackEvent }
  /** An event type that Payonce does not need. It is acknowledged and not stored. */
  | { readonly kind: 'ignored'; readonly type: string }
  | Unreadable;

export interface Unreadable {
  readonly kind: 'unreadable';
  readonly param?: string;
  readonly detail: string;
}

/** Ignores a leading byte-order mark. */
export function readEventBody(body: Uint8Array): { readonly kind: 'read'; readonly value: unknown } | Unreadable {
  try {
    return { kind: 'read', value: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) };
  } catch {
    return { kind: 'unreadable', detail: 'The body must be JSON in UTF-8.' };
  }
}

export function otherMode(livemode: boolean, { mode }: EventSource): Unreadable {
  const detail = `livemode is ${livemode}, but this URL accepts events in ${mode} mode only.`;
  return { kind: 'unreadable', param: 'livemode', detail };
}

export function unreadable(error: z.ZodError): Unreadable {
  const [issue] = error.issues;
  const param = issue?.path.join('.') ?? '';
  const field = param === '' ? '' : `${param}: `;
  const detail = `The body is not a valid event: ${field}${issue?.message ?? 'it does not match the schema'}.`;
  return param === '' ? { kind: 'unreadable', detail } : { kind: 'unreadable', param, detail };
}
