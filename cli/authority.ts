import { DynamoDbActivity } from '../lambdas/activity/store/dynamodb-activity.ts';
import { STATE_VALID_MS, storesOf } from '../lambdas/authority/contract.ts';
import type { PostgresStores } from '../lambdas/authority/postgres-stores.ts';
import type { AuthorityStores } from '../lambdas/authority/sharded-stores.ts';
import type { Shard } from '../lambdas/authority/shards.ts';
import { readAuthorityState } from '../lambdas/authority/store/authority-state.ts';
import type { Authority } from '../lambdas/jobs/contract/jobs.ts';
import { invariant } from '../lambdas/kernel/invariant.ts';
import type { Database } from '../lambdas/postgres/database.ts';
import { type ChosenDatabase, chosenOr, databasesOfSettings, withDatabase, withDatabases } from './database.ts';
import { openTables } from './deployment.ts';
import { CliFailure, ExitCode } from './failure.ts';
import type { Session } from './session.ts';

type OpenedTables = Awaited<ReturnType<typeof openTables>>;

export interface OpenedAuthority extends OpenedTables {
  /** The PostgreSQL stores. Absent when DynamoDB is the authority. */
  readonly postgres?: AuthorityStores;
  /** One entry for each PostgreSQL database. Absent when DynamoDB is the authority. */
  readonly databases?: readonly PostgresStores[];
}

/**
 * @param chosen the database @default the database of the settings, with the user of the functions
 * @throws CliFailure if the database cannot be reached
 */
export async function withAuthority<T>(
  session: Pick<Session, 'aws'>,
  chosen: ChosenDatabase,
  work: (opened: OpenedAuthority) => Promise<T>,
): Promise<T> {
  return withAuthorityOf(session, await openTables(await session.aws()), chosen, work);
}

export async function withAuthorityOf<T>(
  session: Pick<Session, 'aws'>,
  opened: OpenedTables,
  chosen: ChosenDatabase,
  work: (opened: OpenedAuthority) => Promise<T>,
): Promise<T> {
  const { client, tables, pacing } = opened;
  const settings = await newestSettings(opened);
  if (storesOf(settings['authority']) === 'dynamodb') return work(opened);
  const { postgresStores } = await import('../lambdas/authority/postgres-stores.ts');
  // This observer ignores the reports of the copier: the command itself waits until its rows are copied, and reports
  // the rows that are not.
  const observer = { stopped: () => undefined, failed: () => undefined, observed: () => undefined };
  const open = (database: Database): PostgresStores => postgresStores({ database, pacing, client, tables, observer });
  const databases = databasesOfSettings(settings);
  if (databases.length === 1)
    return withDatabase(session, chosenOr(settings, chosen), (database) => {
      const postgres = open(database);
      return work({ ...opened, postgres, databases: [postgres] });
    });
  if (chosen.url !== undefined || chosen.secret !== undefined)
    throw new CliFailure(
      ExitCode.usage,
      `This deployment has ${databases.length} databases, which the command finds in the settings: use neither --url nor --secret.`,
    );
  return withDatabases(session, databases, async (shards) =>
    work({
      ...opened,
      postgres: await storesInShards(
        opened,
        shards.map(({ name, database }) => ({ name, stores: open(database) })),
      ),
      databases: shards.map(({ database }) => open(database)),
    }),
  );
}

/** A command fails if one of the databases does not respond. */
async function storesInShards(
  { client, tables, pacing }: OpenedTables,
  [first, ...others]: readonly Shard[],
): Promise<AuthorityStores> {
  invariant(first !== undefined, 'the settings have no database');
  const [{ Shards }, { shardedStores }, { TenantShards }] = await Promise.all([
    import('../lambdas/authority/shards.ts'),
    import('../lambdas/authority/sharded-stores.ts'),
    import('../lambdas/tenants/store/tenant-shards.ts'),
  ]);
  const unavailable = (_shard: string, error: unknown): never => {
    throw error;
  };
  const tenants = new TenantShards(client, tables.registry, pacing, STATE_VALID_MS);
  return shardedStores(new Shards({ databases: [first, ...others], tenants, unavailable }));
}

/** Returns an empty object if no settings are recorded. */
export async function newestSettings({
  client,
  tables,
  pacing,
}: OpenedTables): Promise<Readonly<Record<string, string>>> {
  const log = new DynamoDbActivity(client, tables, pacing);
  const [newest] = await log.listActivity('settings', { order: 'newest_first', limit: 1 });
  return newest?.details ?? {};
}

/**
 * Call it before a command changes payments.
 *
 * @param selected @default the authority whose stores are open
 * @throws CliFailure if the other authority is the system of record, or an import has stopped all writes
 */
export async function requireAuthority(
  { client, tables, pacing, postgres }: OpenedAuthority,
  selected: Authority = postgres === undefined ? 'dynamodb' : 'postgres',
): Promise<void> {
  const { authority = selected, isImporting = false } = (await readAuthorityState({ client, tables, pacing })) ?? {};
  if (isImporting) throw new CliFailure(ExitCode.refused, 'An import has stopped all writes: finish or cancel it.');
  if (authority !== selected)
    throw new CliFailure(
      ExitCode.refused,
      `The payments are in ${authority}: deploy with payonce:authority=${authority}.`,
    );
}
