/* Key attributes and index names, as the stacks create them and the adapters use them. */

/** Partition and sort key of the Ledger, the Registry, the Views and the sandbox's table. */
export const KeyAttribute = { partition: 'pk', sort: 'sk' } as const;

/**
 * Idempotency: partition key `pk` only. Open claims are found by a sparse index, which contains whole records: only a
 * record with an open claim has the two key attributes of the index.
 */
export const IdempotencyTable = {
  partitionKey: 'pk',
  /** Unix seconds; set only by the completing write, so that an unfinished record never expires. */
  timeToLiveAttribute: 'expiresAt',
  openClaimsIndex: {
    name: 'open-claims',
    /** Number: a shard. */
    partitionKey: 'openShard',
    /**
     * Number, Unix milliseconds. Initially, the end of the lease; after a release, the end of the send window. Later,
     * the time of the next look-up by a job.
     */
    sortKey: 'dueAtMs',
  },
} as const;

/**
 * Ledger: `pk` = a {@link LedgerRow} and an id, for example `PAY#<payment id>`. A transition has `sk` = `T#<sequence>`,
 * with six digits. Only outcomes have the attributes of the index; pending transitions do not have them.
 */
export const LedgerTable = {
  recentOutcomesIndex: {
    name: 'recent-outcomes',
    /** String, `<shard>#<UTC day>`. */
    partitionKey: 'outcomeBucket',
    /** String, `<Unix milliseconds>#<id of the payment or order>#<sequence>`. */
    sortKey: 'outcomeOrder',
  },
} as const;

export const RegistryTable = {
  dueIndex: {
    name: 'webhook-due',
    /**
     * String: a shard of the queue that the sweep reads, or of the lane of one endpoint. Only on rows that become due.
     */
    partitionKey: 'dueIn',
    /** Number, Unix milliseconds. */
    sortKey: 'sweepAtMs',
  },
  queuesIndex: {
    name: 'queues',
    /** String: a {@link QueueRow} and a shard. Only on queue entries. */
    partitionKey: 'queue',
    /** Number, Unix milliseconds: the time of the next look-up by a job. */
    sortKey: 'dueAtMs',
  },
  emailIndex: {
    name: 'emails',
    /** String: an {@link EmailRow}, a keyed hash and a shard. Only on details with an e-mail address. */
    partitionKey: 'emailOf',
    /** String: the sort key within a list. */
    sortKey: 'place',
  },
} as const;

/** Views: the index lists rows a second time under another partition, in the same order. */
export const ViewsTable = {
  listsIndex: {
    name: 'lists',
    /** String. Only on rows that appear in a second list. */
    partitionKey: 'list',
  },
} as const;

/** Name of the first PostgreSQL database. Tenants whose row names no database are in it. */
export const FIRST_SHARD = 'first';
