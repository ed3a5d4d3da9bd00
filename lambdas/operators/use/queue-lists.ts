import { IdempotencyRow } from '../../kernel/contract/rows.ts';
import { FOREIGN_KEPT_DAYS, type OrphanedCallback } from '../../payments/use/effect-store.ts';

/** `waits` describes a queue's entries. The runs of `job` report the number of remaining entries as `left`. */
export const QUEUES = {
  claims: { waits: 'Requests that were not completed before the lease of their owner ended.', job: 'resolve' },
  inquiries: {
    waits:
      'Payments and changes whose outcome is looked up at the processor. The next look-up removes those that have ended.',
    job: 'resolve',
  },
  returns: { waits: 'Stray charges that must still be refunded or voided.', job: 'resolve' },
  orders: { waits: 'Orders that are neither fulfilled nor reversed yet.', job: 'resolve' },
  holds: {
    waits:
      'Authorizations, which are voided if they are not captured in time. Those already captured or canceled are removed when they are due.',
    job: 'expire-authorizations',
  },
  orphans: { waits: 'Callbacks without a known payment, which are retried for a day.', job: 'retry-orphans' },
  unmatched_callbacks: {
    waits: `Callbacks without a known payment, which are no longer retried. Those of other programs need no person, and expire ${FOREIGN_KEPT_DAYS} days after their arrival.`,
    job: null,
  },
} as const;

export type QueueName = keyof typeof QUEUES;

export interface QueueEntry {
  /** Absent when the id is unknown or the row cannot be read. */
  readonly about?: string;
  /**
   * The id of the operation or charge. For a call to a vendor, the vendor and the operation, for example
   * `postmark email.send`. The operation that charges a payment has the payment's id.
   */
  readonly part?: string;
  /** For an entry of `unmatched_callbacks`. */
  readonly callback?: OrphanedCallback;
  /** Absent when the row cannot be read. */
  readonly sinceMs?: number;
  /** Whether only an operator, and no job, can resolve the entry. */
  readonly needsOperator: boolean;
}

export interface QueuePosition {
  readonly shard: number;
  readonly sort: string;
}

/** The due time of the claim and the key of its record. */
export const CLAIM_SORT_KEY_PATTERN = new RegExp(String.raw`^(\d{1,15}) (${IdempotencyRow.record}.+)$`);

export interface QueueSummary {
  /** Counted up to a limit of the store. */
  readonly waiting: number;
  readonly hasMore: boolean;
  /** Time of the oldest counted entry. */
  readonly oldestMs?: number;
}

export const OPERATOR_QUEUES = ['claims', 'inquiries', 'returns', 'holds', 'unmatched_callbacks'] as const;

export type OperatorQueue = (typeof OPERATOR_QUEUES)[number];

/** Reads the queues across all tenants. */
export interface QueueLists {
  /**
   * Makes at most four queries, however many shards the queue has.
   *
   * @returns the entries in no particular order; `hasMore` if there may be more
   */
  needingOperator(
    queue: OperatorQueue,
  ): Promise<{ readonly entries: readonly QueueEntry[]; readonly hasMore: boolean }>;
  summary(queue: QueueName): Promise<QueueSummary>;
  /** @param after the position of the last entry of the previous page */
  page(
    queue: QueueName,
    page: { readonly after?: QueuePosition; readonly limit: number },
  ): Promise<readonly { readonly place: QueuePosition; readonly entry: QueueEntry }[]>;
}

export type DeployedQueues = Readonly<Record<string, DeployedQueue>>;

interface DeployedQueue {
  readonly url: string;
  /** Whether no function reads the queue, for example a dead-letter queue or a queue of parked records. */
  readonly isKept: boolean;
  /** Name of the queue or function that reprocesses the messages unchanged. */
  readonly redriveTo?: string;
  /** The function's name in the deployment, if `redriveTo` is a function. */
  readonly redriver?: string;
}

/**
 * The queue of scheduled runs that could not be requested in time. Its messages about jobs of this deployment can be
 * dismissed together, because any later run does their work.
 */
export const MISSED_RUNS = 'Jobs-Missed';

/** Each reason names the alternative. */
const NO_REDRIVE_BECAUSE: Readonly<Record<string, string>> = {
  'Archive-Parked': 'Redriving these messages requires a scan of the whole Ledger. Run `payonce redrive` instead.',
  [MISSED_RUNS]:
    'A missed run is not repeated, because the next run of its job does all work that is due. Run each job that the messages name once. If a job belongs to another service, ask its team to run it. Then dismiss the messages.',
};

/** Each reason names the alternative. */
const NO_DISMISSAL_BECAUSE: Readonly<Record<string, string>> = {
  'Archive-Parked': 'Without these messages, the archive would lack rows. Run `payonce redrive` instead.',
};

const NO_DISMISSAL = 'Only messages that no function receives can be dismissed.';

/** Default reason. None of the stacks' queues needs it. */
export const NO_REDRIVE = 'No function processes these messages again.';

/** Undefined for an unknown queue. */
export function redriveTarget(
  deployed: DeployedQueues,
  id: string,
): { readonly kind: 'target'; readonly to: string } | { readonly kind: 'none'; readonly because: string } | undefined {
  const none = (because: string) => ({ kind: 'none', because }) as const;
  if (isQueueName(id))
    return none(
      QUEUES[id].job === null
        ? 'These callbacks are not retried, because their payments are unknown. Dismiss those that need a person.'
        : 'A job empties this queue. Request a run of the job.',
    );
  const queue = Object.hasOwn(deployed, id) ? deployed[id] : undefined;
  if (queue === undefined) return undefined;
  if (!queue.isKept) return none('A function already receives the messages of this queue, so they need no redrive.');
  const { redriveTo: to } = queue;
  return to === undefined ? none(NO_REDRIVE_BECAUSE[id] ?? NO_REDRIVE) : { kind: 'target', to };
}

/** Undefined for an unknown queue. */
export function dismissalOf(
  deployed: DeployedQueues,
  id: string,
): { readonly kind: 'one' | 'all' } | { readonly kind: 'none'; readonly because: string } | undefined {
  const none = (because: string) => ({ kind: 'none', because }) as const;
  if (isQueueName(id)) return none(NO_DISMISSAL);
  const queue = Object.hasOwn(deployed, id) ? deployed[id] : undefined;
  if (queue === undefined) return undefined;
  const because = queue.isKept ? NO_DISMISSAL_BECAUSE[id] : NO_DISMISSAL;
  return because === undefined ? { kind: id === MISSED_RUNS ? 'all' : 'one' } : none(because);
}

function isQueueName(id: string): id is QueueName {
  return Object.hasOwn(QUEUES, id);
}

/** By the common prefix of the names of a task queue and of its dead-letter queue. */
const TASKS: Readonly<Record<string, string>> = {
  'FollowUps-CommissionEvents-Tasks': 'Events for which a referrer gets a commission',
  'FollowUps-ReceiptEvents-Tasks': 'Events for which a receipt is sent',
  'Intake-Tasks': 'Payment requests of all senders without a queue of their own',
  'Jobs-PaymentRuns-Tasks': 'Runs of the jobs that work on payments',
  'Jobs-Targets-Calls': 'Scheduled calls to jobs of other services',
  'Jobs-UpkeepRuns-Tasks': 'Runs of the jobs that do not work on payments',
  'NatsBridge-Tasks': 'Events that the bridge publishes over NATS',
  'Parties-DelayedCalls': 'Calls to vendors that are repeated after a delay',
  'Views-Events-Tasks': 'Events that update lists, balances and reports',
  'Webhooks-Events-Tasks': 'Events for which webhook deliveries are created',
  'Webhooks-Lanes': 'Webhook deliveries to endpoints that fail or respond slowly',
  'Webhooks-Tasks': 'Webhook deliveries that are due',
};

const OTHER_MESSAGES: Readonly<Record<string, string>> = {
  'Archive-Parked': 'Records of the Ledger that could not be archived.',
  'Events-Parked': 'Records of the Ledger whose events could not be published.',
  'Vendors-DeadLetters': 'Calls to vendors that failed on their last attempt.',
  [MISSED_RUNS]: 'Scheduled runs of jobs that could not be requested in time.',
};

/** The name, without its ending, of a queue with a single sender's payment requests. */
const QUEUE_OF_SENDER = /^Intake-Queue-(.+)$/;

export function describeMessages(id: string, isKept: boolean): string {
  const name = id.slice(0, id.lastIndexOf('-'));
  const sender = QUEUE_OF_SENDER.exec(name)?.[1];
  const messages = sender === undefined ? TASKS[name] : `Payment requests of the sender ${sender}`;
  if (messages === undefined) return OTHER_MESSAGES[id] ?? `Messages of the queue ${id}.`;
  return isKept
    ? `${messages}. They could not be processed, and wait for an operator.`
    : `${messages}. They wait to be processed.`;
}

export interface MessageEntry extends QueueEntry {
  readonly id: string;
  /** Absent if the sender of the message gave no reason. */
  readonly reason?: string;
  /** The id of the job whose scheduled run was missed. Absent for a job of another service. */
  readonly job?: string;
  /** Scheduled time of the missed run. */
  readonly scheduledForMs?: number;
}

/** A message that is hidden from all other readers for some seconds. */
export interface HeldMessage extends MessageEntry {
  /** Moves the message unchanged. A moved message has a new id. */
  redrive(): Promise<void>;
  delete(): Promise<void>;
}

export interface RedriveRange {
  /**
   * Selects only messages that were sent before this time. A message that fails again after a redrive is treated as a
   * new message.
   */
  readonly beforeMs: number;
  /** Time after which no more messages are received. */
  readonly stopAtMs: number;
}

/** Amazon SQS. */
export interface MessageQueues {
  readonly deployed: DeployedQueues;
  /** Approximate; includes delayed and in-flight messages. */
  count(queue: string): Promise<number>;
  /**
   * In no particular order. The messages are hidden from other readers while they are listed.
   *
   * @param limit at least 1
   */
  peek(queue: string, limit: number): Promise<readonly MessageEntry[]>;
  /**
   * Moves the messages unchanged. A message is deleted only after it was passed on, so a crash between these two steps
   * leaves the message in both places.
   *
   * @returns the number of moved messages
   */
  redrive(queue: string, which: RedriveRange): Promise<number>;
  /** Deletes messages about jobs of this deployment, and keeps all others. */
  dismiss(queue: string, which: RedriveRange): Promise<void>;
  /**
   * Hides the message for some seconds, in which the caller can move or delete it. The queue has no order and no index,
   * so the search also receives and hides other messages until it finds the right one.
   *
   * @param stopAtMs time after which no more messages are received
   * @returns undefined when the message was not found: it is gone, hidden, or behind too many others
   */
  hold(queue: string, id: string, stopAtMs: number): Promise<HeldMessage | undefined>;
}
