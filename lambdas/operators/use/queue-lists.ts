import { IdempotencyRow } from '../../kernel/contract/rows.ts';

/**
 * The queues of unfinished work, each with a description of its entries and the job whose runs count them as `left`.
 */
export const QUEUES = {
  claims: { waits: 'Requests whose owner did not complete them before its lease ended.', job: 'resolve' },
  inquiries: { waits: 'Payments and changes whose outcome is looked up at the processor.', job: 'resolve' },
  returns: { waits: 'Charges that their payments must not have, and that are to be returned.', job: 'resolve' },
  orders: { waits: 'Orders that are not fulfilled or undone yet.', job: 'resolve' },
  holds: { waits: 'Authorizations that are neither captured nor voided.', job: 'expire-authorizations' },
  orphans: { waits: 'Callbacks without a known payment, which are retried for a day.', job: 'retry-orphans' },
  unmatched_callbacks: { waits: 'Callbacks without a known payment, which are no longer retried.', job: null },
} as const;

export type QueueName = keyof typeof QUEUES;

/** An entry of a queue. */
export interface QueueEntry {
  /** The id of the payment or the order. Absent when it is not known, or the row cannot be read. */
  readonly about?: string;
  /** The id of the operation or the charge, when it differs. */
  readonly part?: string;
  /** Unix milliseconds. Absent when the row cannot be read. */
  readonly sinceMs?: number;
  /** Whether no job can end it. */
  readonly needsOperator: boolean;
}

/** The place of an entry: a shard, and the sort key in it. */
export interface QueuePlace {
  readonly shard: number;
  readonly sort: string;
}

/** The sort of a place among the claims: the time at which the claim is due, and the key of its record. */
export const CLAIM_SORT = new RegExp(String.raw`^(\d{1,15}) (${IdempotencyRow.record}.+)$`);

export interface QueueSummary {
  /** Counted up to some hundreds in each shard. */
  readonly waiting: number;
  /** Whether there are more entries than were counted. */
  readonly hasMore: boolean;
  /** The oldest counted entry. Unix milliseconds. */
  readonly oldestMs?: number;
}

/** The queues across all tenants. Nothing is changed. */
export interface QueueLists {
  summary(queue: QueueName): Promise<QueueSummary>;
  /** @param after the place of the last entry of the previous page */
  page(
    queue: QueueName,
    page: { readonly after?: QueuePlace; readonly limit: number },
  ): Promise<readonly { readonly place: QueuePlace; readonly entry: QueueEntry }[]>;
}

/** Names of the queues of messages, with how each was deployed. */
export type DeployedQueues = Readonly<Record<string, DeployedQueue>>;

interface DeployedQueue {
  readonly url: string;
  /** Whether no function receives its messages: dead letters and parked records. */
  readonly isKept: boolean;
  /** The name of the queue or function that processes its messages again, unchanged. */
  readonly redriveTo?: string;
  /** The deployed name of `redriveTo`, if it is a function. */
  readonly redriver?: string;
}

/** Queues whose messages are kept and cannot be redriven, each with the alternative for an operator. */
const NO_REDRIVE_BECAUSE: Readonly<Record<string, string>> = {
  'Archive-Parked':
    'The archive needs their rows, which are searched for in the whole Ledger: use the command `payonce redrive`.',
  'Jobs-Missed': 'The next run of each job does everything that is due. Request a run of the job, and purge the queue.',
};

/** The reason for a queue that is in none of the lists above. The stacks have no such queue. */
export const NO_REDRIVE = 'No function processes these messages again.';

/** The destination of a redrive, or the reason why it is not possible. Undefined for an unknown queue. */
export function redriveTarget(
  deployed: DeployedQueues,
  id: string,
): { readonly kind: 'target'; readonly to: string } | { readonly kind: 'none'; readonly because: string } | undefined {
  const none = (because: string) => ({ kind: 'none', because }) as const;
  if (isQueueName(id))
    return none(
      QUEUES[id].job === null
        ? 'These are not retried, because their payments are not known.'
        : 'A job empties this queue: request a run of it.',
    );
  const queue = Object.hasOwn(deployed, id) ? deployed[id] : undefined;
  if (queue === undefined) return undefined;
  if (!queue.isKept) return none('A function receives the messages of this queue.');
  const { redriveTo: to } = queue;
  return to === undefined ? none(NO_REDRIVE_BECAUSE[id] ?? NO_REDRIVE) : { kind: 'target', to };
}

function isQueueName(id: string): id is QueueName {
  return Object.hasOwn(QUEUES, id);
}

export interface MessageEntry extends QueueEntry {
  /** The id of the message. */
  readonly id: string;
  /** The reason why it was given up, if its sender gave one. */
  readonly reason?: string;
}

/** Selects the messages to move back. */
export interface PutBack {
  /**
   * Messages that were sent before this time. A message that fails again after it was moved counts as a new message.
   * Unix milliseconds.
   */
  readonly beforeMs: number;
  /** No further message is received after this time. Unix milliseconds. */
  readonly stopAtMs: number;
}

/** Queues of messages (Amazon SQS). */
export interface MessageQueues {
  readonly deployed: DeployedQueues;
  /** Approximate number of messages, including delayed and in-flight ones. */
  count(queue: string): Promise<number>;
  /**
   * Some of the messages that no function receives, in no particular order. They are hidden from other readers for some
   * seconds.
   *
   * @param limit at least 1
   */
  peek(queue: string, limit: number): Promise<readonly MessageEntry[]>;
  /**
   * Moves messages, unchanged, to the queue or function that `redriveTo` names. A message is deleted only after it was
   * passed on, so a crash in between leaves it in both places.
   *
   * @returns the number of moved messages
   */
  putBack(queue: string, which: PutBack): Promise<number>;
}
