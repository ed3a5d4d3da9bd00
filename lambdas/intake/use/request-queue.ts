/** An event that asks for a payment, as a transport delivered it. */
export interface RequestMessage {
  /** The sender, as the settings name it. The transport vouches for it, never the payload. */
  readonly sender: string;
  /** JSON in UTF-8, not yet checked. */
  readonly payload: Uint8Array;
  /** When the transport got it first. Unix milliseconds. */
  readonly sentAtMs: number;
  /** How often Payonce has failed at it. A sender cannot set it. @default 0 */
  readonly failures?: number;
}

/** Why an event was parked. An alarm reports each. */
export type ParkedReason =
  /** The settings map no such sender. */
  | 'unknown_sender'
  /** The settings map its sender to a tenant that does not exist. */
  | 'unknown_tenant'
  /** It is no request, or a field is invalid. */
  | 'malformed'
  /** Its `account_to` is not the tenant of its sender. */
  | 'wrong_account'
  /** Another request was taken under its id. */
  | 'changed'
  /** It came too late. */
  | 'expired'
  /** It can have no payment: its reference is in use, or no processor takes it. */
  | 'refused'
  /** Each try failed. */
  | 'failed';

/** The queue of requests, which keeps what cannot be done now, and the queue of parked requests. */
export interface RequestQueue {
  /** Hands a request over to the queue, which delivers it after the delay. Once it returns, the request is durable there. */
  later(message: RequestMessage, delaySeconds: number): Promise<void>;
  /** Keeps a request for operators. Once it returns, it is durable there. */
  park(message: RequestMessage, reason: ParkedReason, detail: string): Promise<void>;
}
