import { base32 } from './digest.ts';

declare const brand: unique symbol;

/** `key_…`: identifies an API key in records without revealing the key. */
export type KeyId = string & { readonly [brand]: 'KeyId' };

export const KEY_ID = /^key_[a-z2-7]{16}$/;
/** Length of an API key's id in bytes: 80 bits, encoded as 16 base32 characters. */
const KEY_ID_BYTES = 10;

export function keyIdOf(hash: Uint8Array): KeyId {
  return `key_${base32(hash.subarray(0, KEY_ID_BYTES))}` as KeyId;
}

/** Each transition stores its cause, so that an auditor can find the request, event or run behind it. */
export type Cause =
  | RequestCause
  | OperatorCause
  | { readonly by: 'callback'; readonly eventId: string }
  | EventCause
  /**
   * A run of a job, identified by its run-id; or the redrive of a dead letter, identified by `redrive:` and the dead
   * letter's id.
   */
  | { readonly by: 'run'; readonly runId: string };

export interface RequestCause {
  readonly by: 'request';
  readonly requestId: string;
  readonly keyId: KeyId;
}

export interface EventCause {
  readonly by: 'event';
  /** The sender's id for the event. */
  readonly eventId: string;
  /** The sender's name in the settings, for example `queue:shop`. */
  readonly sender: string;
}

/** The transition's subject contains the reason. */
export interface OperatorCause extends Pick<RequestCause, 'requestId'> {
  readonly by: 'operator';
  readonly operator: string;
  /** The id of the operator's key, or the operator's subject at the identity provider. */
  readonly identity: string;
}

export interface Occasion {
  readonly occurredAtMs: number;
  readonly cause: Cause;
}

export function causeObject(cause: Cause): Record<string, unknown> {
  switch (cause.by) {
    case 'request':
      return { type: 'request', request_id: cause.requestId, api_key: cause.keyId };
    case 'operator':
      return { type: 'operator', operator: cause.operator, identity: cause.identity, request_id: cause.requestId };
    case 'callback':
      return { type: 'callback', event_id: cause.eventId };
    case 'event':
      return { type: 'event', event_id: cause.eventId, sender: cause.sender };
    case 'run':
      return { type: 'run', run_id: cause.runId };
  }
}
