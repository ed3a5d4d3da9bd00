import type { RoutingRule } from '../kernel/contract/environment.ts';

/** The stack, the function and the NATS bridge share these names. */

/** The event's `detail` is the request. */
export const PAYMENT_REQUESTED = 'payment.requested.v1';

/** The `source` of payment requests on the bus, unless the settings name another source. */
export const REQUESTS_SOURCE = 'payonce.requests';

/**
 * The attributes of messages in the queue of requests. Only Payonce, the event bus and the NATS bridge can write to
 * this queue.
 */
export const RequestAttribute = {
  /** The NATS subject that the message was published to. */
  subject: 'subject',
  /** `base64` when the body contains bytes that an SQS message cannot contain. */
  encoding: 'encoding',
  /** The sender of a message that is queued for later or parked. */
  sender: 'sender',
  /** Time at which the transport first received the message, in Unix milliseconds. */
  sentAt: 'sent_at',
} as const;

/** The settings map each name to a tenant and a mode. */
export const senderName = {
  bus: (source: string, account: string) => `bus:${source}:${account}`,
  queue: (name: string) => `queue:${name}`,
  topic: (topic: string) => `topic:${topic}`,
  subject: (subject: string) => `subject:${subject}`,
};

/**
 * Names of the environment variables that only the function for payment requests reads. They are not in the shared list
 * `Environment`, because every function bundles that list.
 */
export const IntakeEnvironment = {
  settings: 'PAYMENT_REQUESTS',
  queueUrl: 'PAYMENT_REQUESTS_QUEUE_URL',
} as const;

export interface IntakeSettings {
  /** Maximum age of an event that may start a payment, in hours. Older events are parked. */
  readonly oldestHours: number;
  readonly senders: readonly {
    readonly sender: string;
    readonly tenant: string;
    readonly mode: RoutingRule['mode'];
  }[];
  /** Queues with a single sender, by ARN. */
  readonly queues: readonly { readonly arn: string; readonly sender: string }[];
}

/**
 * Maximum number of requests that one invocation of the function receives. It processes them concurrently, each within
 * the time limit of one request.
 */
export const REQUESTS_AT_ONCE = 10;
