import type { StoreTables } from '../once/store/transact-items.ts';
import { POSTGRES_AUTHORITY } from './contract.ts';
import { dynamoDbAuthority } from './dynamodb-authority.ts';
import type { AuthorityPlatform, PostgresAuthority } from './postgres-authority.ts';

export interface ConfiguredAuthority {
  /** The client for stores of payments and orders on DynamoDB, when DynamoDB is the authority. */
  readonly client: AuthorityPlatform['documents'];
  /** Absent when DynamoDB is the authority. */
  readonly postgres?: PostgresAuthority;
}

/**
 * The stores refuse all calls while the other kind of authority (DynamoDB or PostgreSQL) is the system of record. Loads
 * the driver only for PostgreSQL.
 *
 * @throws Error naming the part of the setting that is missing or invalid
 */
export async function configuredAuthority(
  platform: AuthorityPlatform,
  tables: StoreTables,
): Promise<ConfiguredAuthority> {
  if (platform.variables[POSTGRES_AUTHORITY] === undefined) return dynamoDbAuthority(platform, tables);
  const { openPostgresAuthority, readPostgresSettings } = await import('./postgres-authority.ts');
  const settings = readPostgresSettings(platform.variables);
  if (settings.shards === undefined)
    return { client: platform.documents, postgres: openPostgresAuthority(platform, tables) };
  const { openShardedAuthority } = await import('./sharded-authority.ts');
  return { client: platform.documents, postgres: openShardedAuthority(platform, tables, settings) };
}
