import { VERSION_TABLE } from './contract.ts';
import type { Runner, Statement } from './database.ts';

const MIGRATED_AT = `SELECT (extract(epoch FROM applied_at) * 1000)::bigint FROM ${VERSION_TABLE} ORDER BY version LIMIT 1`;

const READ: Statement = { name: 'read-identity', text: `SELECT (${MIGRATED_AT}) AS migrated_at_ms`, values: [] };

const READ_USED: Statement = {
  name: 'read-used-identity',
  text: `SELECT (${MIGRATED_AT}) AS migrated_at_ms WHERE EXISTS (SELECT FROM transition)`,
  values: [],
};

/**
 * Identifies a database by the time of its first migration. A backup of the database has the same identity.
 *
 * @returns the time in Unix milliseconds; undefined before the first migration
 * @throws a fault of the statement
 */
export async function readIdentity(database: Runner): Promise<number | undefined> {
  return identityIn(await database.run(READ));
}

/** Returns the identity as {@link readIdentity} does; undefined if the database has no payment and no order. */
export async function readIdentityIfUsed(database: Runner): Promise<number | undefined> {
  return identityIn(await database.run(READ_USED));
}

function identityIn([row]: readonly Readonly<Record<string, unknown>>[]): number | undefined {
  const migratedAtMs = row?.['migrated_at_ms'] ?? undefined;
  return migratedAtMs === undefined ? undefined : Number(migratedAtMs);
}
