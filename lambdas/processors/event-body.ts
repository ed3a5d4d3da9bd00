import * as z from 'zod';
import type { CallbackEvent } from '../payments/use/effect-store.ts';

/** Of an event's and a charge's id: what fits into a key and is no surprise in a log. */
export const id = z.string().regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 visible ASCII characters');

/** What a body of a callback says. */
export type ReadEvent =
  | { readonly kind: 'event'; readonly event: CallbackEvent }
  /** Nothing that Payonce needs to know: to be acknowledged and forgotten. */
  | { readonly kind: 'ignored'; readonly type: string }
  | Unreadable;

export interface Unreadable {
  readonly kind: 'unreadable';
  readonly param?: string;
  readonly detail: string;
}

/** Reads a body whose signature is good. A byte-order mark that was signed with it is passed over. */
export function readEventBody(body: Uint8Array): { readonly kind: 'read'; readonly value: unknown } | Unreadable {
  try {
    return { kind: 'read', value: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) };
  } catch {
    return { kind: 'unreadable', detail: 'The body must be JSON in UTF-8.' };
  }
}

/** Says which field is not that of an event, and why. */
export function unreadable(error: z.ZodError): Unreadable {
  const [issue] = error.issues;
  const param = issue?.path.join('.') ?? '';
  const detail = `${param === '' ? 'The body' : param} is not that of an event: ${issue?.message ?? 'it is not valid'}.`;
  return param === '' ? { kind: 'unreadable', detail } : { kind: 'unreadable', param, detail };
}
