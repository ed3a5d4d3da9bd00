export interface RequestMessage {
  /** The sender's name in the settings. The transport determines it; the payload is never trusted for it. */
  readonly sender: string;
  /** JSON in UTF-8, not yet checked. */
  readonly payload: Uint8Array;
  /** Time at which the transport first received the request, in Unix milliseconds. */
  readonly sentAtMs: number;
  /** Number of failures that Payonce has counted. A sender cannot set it. @default 0 */
  readonly failures?: number;
}

/** Reasons for parking an event. Each raises an alarm. */
export type ParkedReason =
  | 'unknown_sender'
  | 'unknown_tenant'
  /** The event is not a request, or a field is invalid. */
  | 'malformed'
  | 'wrong_account'
  | 'changed'
  | 'expired'
  /** The request cannot start a payment: its reference is in use, or no processor accepts it. */
  | 'refused'
  | 'failed';

export interface RequestQueue {
  /** When the promise resolves, the request is durable. */
  later(message: RequestMessage, delaySeconds: number): Promise<void>;
  park(message: RequestMessage, reason: ParkedReason, detail: string): Promise<void>;
}
