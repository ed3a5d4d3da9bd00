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

/** The sort of a place among the claims: the time of the claim, and the key of its record. */
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
  /** The name of the queue whose messages they were, if they can be put back into it as they are. */
  readonly redriveTo?: string;
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
   * Puts messages back into the queue that `redriveTo` names, as they are. One is deleted after it was put back: whoever dies between
   * leaves it in both queues.
   *
   * @returns how many were put back
   */
  putBack(queue: string, which: PutBack): Promise<number>;
}
