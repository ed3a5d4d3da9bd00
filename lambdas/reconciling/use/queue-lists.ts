/** The queues of unfinished work, each with what waits in it and the job whose runs count it as `left`. */
export const QUEUES = {
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
