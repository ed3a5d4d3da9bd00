import { AmbiguousError, RetryableError } from '../kernel/faults.ts';
import type { Clock } from '../kernel/world.ts';
import { SCHEMA } from './connection.ts';
import { VERSION_TABLE } from './contract.ts';
import { type Runner, UniqueViolation } from './database.ts';
import { escapeIdentifier } from './driver.ts';
import { DSQL_ROLE, type Engine } from './dsql.ts';
import { sqlState } from './faults.ts';
import { type Migration, privilegesFor, refusedPrivilegesFor, statementFor, tablesOf } from './migrations.ts';

/** Each attempt waits for a lock for as long as the session's limit allows. */
const MAX_ATTEMPTS = 10;
const PAUSE_MS = 200;
/**
 * SQLSTATEs that a statement can fail with while another run executes the same statement: duplicate_schema,
 * duplicate_table, duplicate_object, duplicate_column, and internal_error ("tuple concurrently updated").
 */
const CONCURRENT_RUNNER = /^(?:42P06|42P07|42710|42701|XX000)$/;

const CREATE_VERSION_TABLE = `CREATE TABLE IF NOT EXISTS ${VERSION_TABLE} (
  version text CONSTRAINT ${VERSION_TABLE}_pkey PRIMARY KEY,
  digest text NOT NULL,
  applied_at timestamptz NOT NULL
)`;

const INSERT_VERSION = `INSERT INTO ${VERSION_TABLE} (version, digest, applied_at) VALUES ($1, $2, $3)
  ON CONFLICT (version) DO NOTHING`;

export class MigrationRefused extends Error {
  override readonly name = 'MigrationRefused';
}

interface MigrationRun {
  /** A connection of the owner of the tables, without a time limit for statements. */
  readonly database: Runner;
  readonly clock: Clock;
  readonly migrations: readonly Migration[];
  /** The schema of the tables, in which the connection looks up names. @default the schema of a deployment */
  readonly schema?: string | undefined;
  /** The role of the functions, which receives its privileges. @default no privileges are changed */
  readonly role?: string | undefined;
  /** @default postgres */
  readonly engine?: Engine;
}

interface ClusterRun extends Pick<MigrationRun, 'database' | 'clock' | 'migrations'> {
  /** The ARNs of the IAM roles that may connect as the database role of the functions. */
  readonly iamRoles: readonly string[];
}

const IAM_ROLE = /^arn:aws[a-z-]*:iam::\d{12}:role\/[\w+=,.@/-]+$/;

/**
 * The connection must belong to the cluster's administrator. No IAM role is removed, because the rollback of a
 * deployment may use it again.
 *
 * @returns the versions that this run applied
 * @throws MigrationRefused as {@link migrate}, or if a text in `iamRoles` is not the ARN of an IAM role
 */
export async function migrateCluster({ iamRoles, ...run }: ClusterRun): Promise<readonly string[]> {
  const hasRole = await exists(run.database, 'pg_roles', 'rolname', DSQL_ROLE);
  const runner = repeating(run.database, run.clock);
  const apply = async (text: string) => runner.run({ name: '', text, values: [] });
  if (!hasRole) await apply(`CREATE ROLE ${DSQL_ROLE} WITH LOGIN`);
  const applied = await migrate({ ...run, role: DSQL_ROLE, engine: 'dsql' });
  for (const arn of await missingIamRoles(runner, iamRoles)) {
    if (!IAM_ROLE.test(arn)) throw new MigrationRefused(`${arn} is not the ARN of an IAM role`);
    await apply(`AWS IAM GRANT ${DSQL_ROLE} TO '${arn}'`);
  }
  return applied;
}

export async function missingIamRoles(database: Runner, iamRoles: readonly string[]): Promise<readonly string[]> {
  const text = 'SELECT arn FROM sys.iam_pg_role_mappings WHERE pg_role_name = $1';
  const rows = await database.run({ name: 'read-iam-roles', text, values: [DSQL_ROLE] });
  const known = new Set(rows.map(({ arn }) => arn));
  return iamRoles.filter((arn) => !known.has(arn));
}

/**
 * Can be repeated after an interruption at any statement, and several runs can overlap.
 *
 * @returns the versions that this run applied
 * @throws MigrationRefused if a migration in the database differs from this version, or the role does not exist
 */
export async function migrate({
  database,
  clock,
  migrations,
  schema = SCHEMA,
  role,
  engine = 'postgres',
}: MigrationRun): Promise<readonly string[]> {
  // Do not retry this query, so that an unreachable server is reported immediately.
  const hasSchema = await exists(database, 'pg_namespace', 'nspname', schema);
  const runner = repeating(database, clock);
  const apply = async (text: string, ...values: readonly unknown[]) => runner.run({ name: '', text, values });
  if (role !== undefined && !(await exists(runner, 'pg_roles', 'rolname', role)))
    throw new MigrationRefused(
      `the database has no role ${role}: create it with CREATE ROLE … LOGIN CONNECTION LIMIT …`,
    );
  // "CREATE SCHEMA IF NOT EXISTS" needs a privilege on the database even if the schema exists.
  if (!hasSchema) await apply(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
  await apply(CREATE_VERSION_TABLE);
  const known = await readVersions(runner);
  const changed = migrations.find(({ version, digest }) => (known.get(version) ?? digest) !== digest);
  if (changed !== undefined)
    throw new MigrationRefused(
      `migration ${changed.version} in the database differs from this version: use the version of Payonce that applied it`,
    );
  const missing = migrations.filter(({ version }) => !known.has(version));
  for (const { version, digest, statements } of missing) {
    for (const statement of statements) await apply(statementFor(engine, statement));
    await apply(INSERT_VERSION, version, digest, new Date(clock.nowMs()).toISOString());
  }
  if (role !== undefined) for (const statement of grants(role, schema, migrations)) await apply(statement);
  return missing.map(({ version }) => version);
}

export async function readVersions(database: Runner): Promise<ReadonlyMap<string, string>> {
  const text = `SELECT version, digest FROM ${VERSION_TABLE}`;
  const rows = await database.run({ name: 'read-versions', text, values: [] });
  return new Map(rows.map(({ version, digest }) => [String(version), String(digest)]));
}

export async function exists(database: Runner, catalog: string, column: string, name: string): Promise<boolean> {
  const text = `SELECT 1 FROM pg_catalog.${catalog} WHERE ${column} = $1`;
  return (await database.run({ name: `find-${catalog}`, text, values: [name] })).length > 0;
}

function grants(role: string, schema: string, migrations: readonly Migration[]): readonly string[] {
  const name = escapeIdentifier(role);
  return [
    `GRANT USAGE ON SCHEMA ${schema} TO ${name}`,
    ...[VERSION_TABLE, ...tablesOf(migrations)].flatMap((table) => {
      const refused = refusedPrivilegesFor(table).join(', ');
      return [
        `GRANT ${privilegesFor(table).join(', ')} ON ${table} TO ${name}`,
        `REVOKE ${refused} ON ${table} FROM ${name}`,
      ];
    }),
  ];
}

function repeating(database: Runner, clock: Clock): Runner {
  return {
    run: async (statement) => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await database.run(statement);
        } catch (error) {
          if (attempt === MAX_ATTEMPTS || !isWorthRepeating(error)) throw error;
          await clock.sleep(PAUSE_MS * attempt);
        }
      }
    },
  };
}

function isWorthRepeating(error: unknown): boolean {
  if (error instanceof RetryableError || error instanceof AmbiguousError || error instanceof UniqueViolation)
    return true;
  return CONCURRENT_RUNNER.test(sqlState(error) ?? '');
}
