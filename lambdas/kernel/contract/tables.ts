/** Key attributes and index names, as the stacks create them and the adapters use them. */

/** Partition and sort key of the Ledger, the Registry, the Views and the sandbox's books. */
export const KeyAttribute = { partition: 'pk', sort: 'sk' } as const;

/**
 * Idempotency: partition key `pk` only. Open claims are found by a sparse index of whole records, whose two attributes
 * exist only while the claim is open.
 */
export const IdempotencyTable = {
  partitionKey: 'pk',
  /** Unix seconds; set only by the completing write, so that an unfinished record never expires. */
  timeToLiveAttribute: 'expiresAt',
  openClaimsIndex: {
    name: 'open-claims',
    /** Number, 0 to 31. */
    partitionKey: 'openShard',
    /** Number, Unix milliseconds: when the lease ends or, after a release, the send window; then when a job looks at the claim next. */
    sortKey: 'dueAtMs',
  },
} as const;

/** Ledger: `pk` = `PAY#<payment id>`, `sk` = `T#<sequence, six digits>`. Outcomes carry the index attributes, pending transitions do not. */
export const LedgerTable = {
  recentOutcomesIndex: {
    name: 'recent-outcomes',
    /** String, `<shard>#<UTC day>`. */
    partitionKey: 'outcomeBucket',
    /** String, `<Unix milliseconds>#<payment id>#<sequence>`. */
    sortKey: 'outcomeOrder',
  },
} as const;

/** Registry: rows that a sweep or a job finds when they are due, and payments and orders by e-mail address. */
export const RegistryTable = {
  dueIndex: {
    name: 'webhook-due',
    /** String, a shard of the queue that the sweep reads, or of the lane of one endpoint. Only of rows that are due at some time. */
    partitionKey: 'dueIn',
    /** Number, Unix milliseconds. */
    sortKey: 'sweepAtMs',
  },
  queuesIndex: {
    name: 'queues',
    /** String, of {@link QueueRow}, and a shard. Only of the entries of queues. */
    partitionKey: 'queue',
    /** Number, Unix milliseconds: when a job looks at the entry next. */
    sortKey: 'dueAtMs',
  },
  emailIndex: {
    name: 'emails',
    /** String, of {@link EmailRow}, a keyed hash and a shard. Only of the details of what has an e-mail address. */
    partitionKey: 'emailOf',
    /** String, a place in a list. */
    sortKey: 'place',
  },
} as const;

/** Views: the rows of the table in the order of the table, under another partition. */
export const ViewsTable = {
  listsIndex: {
    name: 'lists',
    /** String. Only of rows that are in a further list. */
    partitionKey: 'list',
  },
} as const;

/** How many partitions spread the writes of the index of open claims. Other numbers of shards divide it. */
export const INDEX_SHARDS = 32;

/**
 * How many partitions spread the outcomes of a day. Each takes an eighth of the writes: 125 units a second at 1,000 payments a
 * second, of 1,000 that a partition takes. Reading a time costs one query for each.
 */
export const OUTCOME_SHARDS = 8;
