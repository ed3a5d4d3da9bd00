/** A payment request from an event, as delivered by a transport. */
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
  /** The settings do not map the sender to a tenant. */
  | 'unknown_sender'
  /** The settings map the sender to a tenant that does not exist. */
  | 'unknown_tenant'
  /** The event is not a request, or a field is invalid. */
  | 'malformed'
  /** The request's `account_to` differs from the tenant of its sender. */
  | 'wrong_account'
  /** Another request was accepted under the event's id. */
  | 'changed'
  /** The event is older than the maximum age and has not begun a payment. */
  | 'expired'
  /** The request cannot start a payment: its reference is in use, or no processor accepts it. */
  | 'refused'
  /** Every attempt failed. */
  | 'failed';

/** Two queues: the queue of requests, to which a request that must wait is sent, and the queue of parked requests. */
export interface RequestQueue {
  /**
   * Sends a request to the queue, which delivers it after the delay. When the promise resolves, the request is durable.
   */
  later(message: RequestMessage, delaySeconds: number): Promise<void>;
  /** Parks a request for operators. When the promise resolves, the request is durable. */
  park(message: RequestMessage, reason: ParkedReason, detail: string): Promise<void>;
}
