/** The databases that can decide about money. */
export const AUTHORITIES = ['dynamodb', 'postgres'] as const;
export type Authority = (typeof AUTHORITIES)[number];

/** Where the functions find the PostgreSQL database. An absent value is in the secret. */
export interface PostgresSettings {
  /** A secret of Secrets Manager with username and password, and possibly host, port and dbname. */
  readonly secretId: string;
  readonly host?: string;
  readonly port?: number;
  readonly database?: string;
  /** Path of a file with the server's CA certificates (PEM). */
  readonly caFile?: string;
}

/** The functions that read or write the authority: those that call `configuredAuthority`. */
export const AUTHORITY_FUNCTIONS: readonly string[] = [
  'callbacks',
  'dead-letters',
  'ledger',
  'orders',
  'payment-jobs',
  'payment-requests',
  'payments',
  'reads',
  'receipt-consumer',
  'upkeep-jobs',
];

/** Time for which a process may use the state of the authority that it has read, in milliseconds. */
export const STATE_VALID_MS = 60_000;

/** Longest time limit of a function that uses the authority, in seconds. A test compares it with the stacks. */
const LONGEST_FUNCTION_SECONDS = 300;

/** Time after which no process writes that has read the state before an import began, in milliseconds. */
export const IMPORT_WAITS_MS = STATE_VALID_MS + LONGEST_FUNCTION_SECONDS * 1000;

/** JSON, `PostgresSettings`: the database that decides about money. Absent when DynamoDB decides. */
export const POSTGRES_AUTHORITY = 'POSTGRES_AUTHORITY';

/** The name of the table ReplayCache. Absent when DynamoDB decides. */
export const REPLAY_CACHE_TABLE = 'REPLAY_CACHE_TABLE';

/** The functions that answer requests with an idempotency key, or complete such requests: those that use the cache. */
export const REPLAY_CACHE_FUNCTIONS: readonly string[] = ['orders', 'payment-jobs', 'payment-requests', 'payments'];

/** Metrics of the table ReplayCache, counted by each function that uses it. */
export const ReplayCacheMetric = {
  /** Replays whose answer was in the table. */
  hits: 'replay_cache_hits',
  /** Replays whose answer was not in the table, and was read from PostgreSQL. */
  missed: 'replay_cache_missed',
  /** Answers that could not be written into the table. */
  notStored: 'replay_cache_failed_writes',
} as const;

/** The value of the metric dimension `service`. */
export const REPLAY_CACHE_SERVICE = 'replay-cache';
