import { FIRST_SHARD } from '../kernel/contract/tables.ts';
import { defined } from '../kernel/defined.ts';

/** The kinds of stores that can be the system of record for payments. Aurora DSQL has the kind `postgres`. */
export const AUTHORITIES = ['dynamodb', 'postgres'] as const;
export type Authority = (typeof AUTHORITIES)[number];

/** The values of the setting `payonce:authority`. With `dsql`, the PostgreSQL stores run on Aurora DSQL. */
export const AUTHORITY_SETTINGS = ['dynamodb', 'postgres', 'dsql'] as const;
export type AuthoritySetting = (typeof AUTHORITY_SETTINGS)[number];

export function storesOf(setting: unknown): Authority {
  return setting === 'postgres' || setting === 'dsql' ? 'postgres' : 'dynamodb';
}

/**
 * Settings of the PostgreSQL databases. The secret contains the credentials, and the parts of the address that are
 * absent here.
 */
export interface PostgresSettings {
  /**
   * Secret in Secrets Manager with username and password, and optionally host, port and dbname.
   * @default the host is a cluster of Aurora DSQL, which needs no secret
   */
  readonly secretId?: string;
  readonly host?: string;
  readonly port?: number;
  readonly database?: string;
  /** Path of a file with the server's CA certificates (PEM). */
  readonly caFile?: string;
  /** All databases except the first one. @default the deployment has one database */
  readonly shards?: readonly ShardSettings[];
}

/**
 * Settings of one additional database, or of several whose names and addresses differ only in a number. Missing fields
 * default to the values of the first database.
 */
export interface ShardSettings extends Partial<Pick<PostgresSettings, 'secretId' | 'host' | 'port' | 'database'>> {
  /** The name by which the rows of tenants refer to the database. It must never change. */
  readonly name: string;
  /**
   * Number of databases that this entry describes. The number of each database, from 1, is appended to the name, and
   * replaces `#` in host and database. One entry with a count replaces many entries, which would exceed the maximum
   * size of a Lambda function's environment variables.
   * @default one database
   */
  readonly count?: number;
}

/** Checks only the name. Synthesis checks the other fields. */
export function isShard(given: unknown): given is ShardSettings {
  return typeof given === 'object' && given !== null && 'name' in given && typeof given.name === 'string';
}

interface NamedDatabase {
  readonly name: string;
  readonly settings: PostgresSettings;
}

export function databasesOf({ shards = [], ...first }: PostgresSettings): readonly [NamedDatabase, ...NamedDatabase[]] {
  const others = shards.flatMap(({ name, count, ...own }) =>
    count === undefined
      ? [{ name, settings: { ...first, ...own } }]
      : Array.from({ length: count }, (_, index) => ({
          name: `${name}${index + 1}`,
          settings: { ...first, ...own, ...numbered(own, String(index + 1)) },
        })),
  );
  return [{ name: FIRST_SHARD, settings: first }, ...others];
}

function numbered({ host, database }: Omit<ShardSettings, 'name' | 'count'>, number: string) {
  return defined({ host: host?.replaceAll('#', number), database: database?.replaceAll('#', number) });
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

/** Time for which a process may use the authority's state after reading it, in milliseconds. */
export const STATE_VALID_MS = 60_000;

/**
 * Longest time limit of a function that uses the authority, in seconds. A test compares it with the timeouts in the
 * stacks.
 */
const LONGEST_FUNCTION_SECONDS = 300;

/**
 * Time from the start of an import, or of a move of a tenant, until all processes that read the earlier state have
 * stopped writing, in milliseconds.
 */
export const IMPORT_WAITS_MS = STATE_VALID_MS + LONGEST_FUNCTION_SECONDS * 1000;

/**
 * Suffix of an operation id. A record with this suffix binds a correction's idempotency key to one payment, so that the
 * key cannot be used for a payment in another database. All these records are in the first database.
 */
export const KEY_OF_CORRECTION = '#payment';

/** Environment variable with {@link PostgresSettings} as JSON. Absent when DynamoDB is the system of record. */
export const POSTGRES_AUTHORITY = 'POSTGRES_AUTHORITY';

/** Environment variable with the name of the ReplayCache table. Absent when DynamoDB is the system of record. */
export const REPLAY_CACHE_TABLE = 'REPLAY_CACHE_TABLE';

/** The functions that use the cache: they respond to requests with an idempotency key, or complete such requests. */
export const REPLAY_CACHE_FUNCTIONS: readonly string[] = ['orders', 'payment-jobs', 'payment-requests', 'payments'];

export const ReplayCacheMetric = {
  hits: 'replay_cache_hits',
  /** Replays whose response could not be read from the table, and was read from PostgreSQL. */
  missed: 'replay_cache_missed',
  notStored: 'replay_cache_failed_writes',
} as const;

/** The value of the metric dimension `service`. */
export const REPLAY_CACHE_SERVICE = 'replay-cache';
