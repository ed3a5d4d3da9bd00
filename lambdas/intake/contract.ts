import type { RoutingRule } from '../kernel/contract/environment.ts';

/** Names of events that ask for payments, which the stack, the function and the bridge of NATS share. */

/** The `detail-type` of such an event on the bus. Its `detail` is the request. */
export const PAYMENT_REQUESTED = 'payment.requested.v1';

/** The `source` of such events on the bus, if the settings name no other. */
export const REQUESTS_SOURCE = 'payonce.requests';

/** The attributes of messages in the queue of requests. Only Payonce, the bus and the bridge can write to it. */
export const RequestAttribute = {
  /** The subject of NATS that the message was published to. The bridge sets it. */
  subject: 'subject',
  /** `base64` when the body is bytes that no message of SQS can be. */
  encoding: 'encoding',
  /** The sender of a message that was handed over or parked. */
  sender: 'sender',
  /** When the transport got the message first. Unix milliseconds. */
  sentAt: 'sent_at',
} as const;

/** The sender of an event, as the settings name it: the mapping gives its tenant and mode. */
export const senderName = {
  bus: (source: string, account: string) => `bus:${source}:${account}`,
  queue: (name: string) => `queue:${name}`,
  topic: (topic: string) => `topic:${topic}`,
  subject: (subject: string) => `subject:${subject}`,
};

/** The environment of the function, apart from the names that every function bundles. */
export const IntakeEnvironment = {
  /** JSON, {@link IntakeSettings}. */
  settings: 'PAYMENT_REQUESTS',
  queueUrl: 'PAYMENT_REQUESTS_QUEUE_URL',
} as const;

export interface IntakeSettings {
  /** An event that is older is parked and not charged. Hours. */
  readonly oldestHours: number;
  /** Whose payments a sender asks for. */
  readonly senders: readonly {
    readonly sender: string;
    readonly tenant: string;
    readonly mode: RoutingRule['mode'];
  }[];
  /** The queues of single senders, by their ARNs. */
  readonly queues: readonly { readonly arn: string; readonly sender: string }[];
}

/** Requests of one execution. They are processed concurrently, each within the time of one. */
export const REQUESTS_AT_ONCE = 10;
