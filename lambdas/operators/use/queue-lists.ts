import { IdempotencyRow } from '../../kernel/contract/rows.ts';

/** The queues of unfinished work, each with what waits in it and the job whose runs count it as `left`. */
export const QUEUES = {
  claims: { waits: 'Requests whose owner did not complete them before its lease ended.', job: 'resolve' },
  inquiries: { waits: 'Payments and changes whose outcome is asked for at the processor.', job: 'resolve' },
  returns: { waits: 'Charges that their payments must not have, to be returned.', job: 'resolve' },
  orders: { waits: 'Orders that are not fulfilled or undone yet.', job: 'resolve' },
  holds: { waits: 'Authorizations that are neither captured nor voided.', job: 'expire-authorizations' },
  orphans: { waits: 'Callbacks without a known payment, which are tried again for a day.', job: 'retry-orphans' },
  orphans_kept: { waits: 'Callbacks without a known payment, which are not tried any more.', job: null },
} as const;

export type QueueName = keyof typeof QUEUES;

/** An entry of a queue. */
export interface QueueEntry {
  /** The id of the payment or the order. Absent when it is not known, or the row cannot be read. */
  readonly about?: string;
  /** The id of the operation or the charge, when it is another one. */
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
  /** Whether there are more than were counted. */
  readonly hasMore: boolean;
  /** Of those that were counted. Unix milliseconds. */
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
  /** The name of the queue whose function does the work of its messages again, as they are, or that of the function. */
  readonly redriveTo?: string;
  /** The deployed name of `redriveTo`, if it is a function. */
  readonly redriver?: string;
}

/** Queues of messages that are kept and that no function does the work of, each with what an operator can do instead. */
const WITHOUT_WAY: Readonly<Record<string, string>> = {
  'Archive-Parked':
    'Their rows are looked for in the whole Ledger: the command `payonce redrive` puts them into the archive.',
  'Jobs-Missed': 'The next run of each job does everything that is due. Request a run of the job, and purge the queue.',
};

/** Of a queue that is in no list above. The stacks have none. */
export const NO_WAY = 'No function does their work again.';

/** Where the work of a queue is done again, or why a redrive is not possible. Undefined for a queue that is not there. */
export function wayBack(
  deployed: DeployedQueues,
  id: string,
): { readonly kind: 'way'; readonly to: string } | { readonly kind: 'none'; readonly because: string } | undefined {
  const none = (because: string) => ({ kind: 'none', because }) as const;
  if (isQueueName(id))
    return none(
      QUEUES[id].job === null
        ? 'Nothing tries these again: their payments are not known.'
        : 'A job empties this queue: request a run of it.',
    );
  const queue = Object.hasOwn(deployed, id) ? deployed[id] : undefined;
  if (queue === undefined) return undefined;
  if (!queue.isKept) return none('A function receives the messages of this queue.');
  const { redriveTo: to } = queue;
  return to === undefined ? none(WITHOUT_WAY[id] ?? NO_WAY) : { kind: 'way', to };
}

function isQueueName(id: string): id is QueueName {
  return Object.hasOwn(QUEUES, id);
}

export interface MessageEntry extends QueueEntry {
  /** The id of the message. */
  readonly id: string;
  /** Why it was given up, if its sender said so. */
  readonly reason?: string;
}

/** Which messages are put back. */
export interface PutBack {
  /** Those that were sent before. What fails again after it was put back is a new message. Unix milliseconds. */
  readonly beforeMs: number;
  /** No further message is taken after this time. Unix milliseconds. */
  readonly stopAtMs: number;
}

/** Queues of messages (Amazon SQS). */
export interface MessageQueues {
  readonly deployed: DeployedQueues;
  /** Approximately, with those that are delayed or received. */
  count(queue: string): Promise<number>;
  /**
   * Some of the messages that no function receives, in no order. They are hidden from others while they are read.
   *
   * @param limit at least 1
   */
  look(queue: string, limit: number): Promise<readonly MessageEntry[]>;
  /**
   * Passes messages to what `redriveTo` names, as they are. One is deleted after it was passed on: whoever dies between leaves it in
   * both places.
   *
   * @returns how many were put back
   */
  putBack(queue: string, which: PutBack): Promise<number>;
}
