import type { StoreTables } from '../once/store/transact-items.ts';
import { POSTGRES_AUTHORITY } from './contract.ts';
import type { AuthorityPlatform, PostgresAuthority } from './postgres-authority.ts';

/**
 * Returns the stores on PostgreSQL; undefined when DynamoDB is the authority. Loads the driver only for PostgreSQL.
 *
 * @throws Error naming the part of the setting that is missing or invalid
 */
export async function configuredAuthority(
  platform: AuthorityPlatform,
  tables: StoreTables,
): Promise<PostgresAuthority | undefined> {
  if (platform.variables[POSTGRES_AUTHORITY] === undefined) return undefined;
  const { openPostgresAuthority } = await import('./postgres-authority.ts');
  return openPostgresAuthority(platform, tables);
}
