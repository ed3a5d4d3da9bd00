/** A payment request from an event, as delivered by a transport. */
export interface RequestMessage {
  /** The sender by its name in the settings. It is authenticated by the transport, never by the payload. */
  readonly sender: string;
  /** JSON in UTF-8, not yet checked. */
  readonly payload: Uint8Array;
  /** Time at which the transport first received it. Unix milliseconds. */
  readonly sentAtMs: number;
  /** Number of failures in Payonce. A sender cannot set it. @default 0 */
  readonly failures?: number;
}

/** Reasons for parking an event. Each raises an alarm. */
export type ParkedReason =
  /** The settings map no such sender. */
  | 'unknown_sender'
  /** The settings map its sender to a tenant that does not exist. */
  | 'unknown_tenant'
  /** It is not a request, or a field is invalid. */
  | 'malformed'
  /** Its `account_to` differs from the tenant of its sender. */
  | 'wrong_account'
  /** Another request was accepted under its id. */
  | 'changed'
  /** It arrived too late. */
  | 'expired'
  /** It cannot start a payment: its reference is in use, or no processor accepts it. */
  | 'refused'
  /** Each try failed. */
  | 'failed';

/** The queue of requests, which holds requests that must wait, and the queue of parked requests. */
export interface RequestQueue {
  /** Sends a request to the queue, which delivers it after the delay. Once this resolves, the request is durable. */
  later(message: RequestMessage, delaySeconds: number): Promise<void>;
  /** Parks a request for operators. Once this resolves, the request is durable. */
  park(message: RequestMessage, reason: ParkedReason, detail: string): Promise<void>;
}
