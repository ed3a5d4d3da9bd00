import { SCHEMA } from './connection.ts';
import { VERSION_TABLE } from './contract.ts';
import type { Runner } from './database.ts';
import type { Engine } from './dsql.ts';
import { exists, readVersions } from './migrate.ts';
import { type Migration, privilegesFor, refusedPrivilegesFor, tablesOf } from './migrations.ts';

export interface SchemaProblem {
  readonly code:
    | 'schema_missing'
    | 'migration_missing'
    | 'migration_changed'
    | 'migration_unknown'
    | 'table_missing'
    | 'role_missing'
    | 'privilege_missing'
    | 'privilege_excessive'
    | 'connection_limit_missing'
    | 'server_too_old';
  /** One sentence for operators. */
  readonly detail: string;
}

interface SchemaCheck {
  readonly database: Runner;
  readonly migrations: readonly Migration[];
  /** The schema of the tables, in which the connection looks up names. @default the schema of a deployment */
  readonly schema?: string | undefined;
  /** The role of the functions. */
  readonly role: string;
  /**
   * The engine of the database. On `dsql`, the role needs no connection limit, because a cluster limits its connections
   * itself.
   * @default postgres
   */
  readonly engine?: Engine | undefined;
}

/**
 * The oldest supported server version, as `server_version_num`. PostgreSQL 13 was the oldest maintained version when
 * the statements were written.
 */
const OLDEST_SERVER = 130_000;

/** Changes nothing. */
export async function checkSchema(check: SchemaCheck): Promise<readonly SchemaProblem[]> {
  const { database, schema = SCHEMA } = check;
  if (!(await exists(database, 'pg_namespace', 'nspname', schema)))
    return [problem('schema_missing', `The database has no schema ${schema}: run "payonce db migrate".`)];
  const tables = await missingTables(check);
  const versions = tables.includes(VERSION_TABLE) ? [] : await versionProblems(check);
  return [
    ...(await serverProblems(check)),
    ...versions,
    ...tables.map((table) => problem('table_missing', `The table ${table} is missing.`)),
    ...(await roleProblems(check, tables)),
  ];
}

function problem(code: SchemaProblem['code'], detail: string): SchemaProblem {
  return { code, detail };
}

async function serverProblems({ database }: SchemaCheck): Promise<readonly SchemaProblem[]> {
  const text = `SELECT current_setting('server_version_num')::integer AS version, current_setting('server_version') AS name`;
  const [row] = await database.run({ name: 'server-version', text, values: [] });
  if (Number(row?.['version']) >= OLDEST_SERVER) return [];
  return [problem('server_too_old', `The server has PostgreSQL ${String(row?.['name'])}; Payonce needs 13 or newer.`)];
}

async function missingTables({ database, migrations, schema = SCHEMA }: SchemaCheck): Promise<readonly string[]> {
  const text = `SELECT name FROM unnest($1::text[]) AS name
    WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_tables WHERE schemaname = $2 AND tablename = name)`;
  const names = [VERSION_TABLE, ...tablesOf(migrations)];
  const rows = await database.run({ name: 'missing-tables', text, values: [names, schema] });
  return rows.map(({ name }) => String(name));
}

async function versionProblems({ database, migrations }: SchemaCheck): Promise<readonly SchemaProblem[]> {
  const applied = await readVersions(database);
  const known = new Set(migrations.map(({ version }) => version));
  return [
    ...migrations.flatMap(({ version, digest }) => {
      const found = applied.get(version);
      if (found === digest) return [];
      return found === undefined
        ? [problem('migration_missing', `Migration ${version} is not applied: run "payonce db migrate".`)]
        : [problem('migration_changed', `Migration ${version} in the database differs from this version of Payonce.`)];
    }),
    ...[...applied.keys()]
      .filter((version) => !known.has(version))
      .map((version) => problem('migration_unknown', `Migration ${version} comes from a newer version of Payonce.`)),
  ];
}

async function roleProblems(check: SchemaCheck, missing: readonly string[]): Promise<readonly SchemaProblem[]> {
  const { database, migrations, schema = SCHEMA, role, engine = 'postgres' } = check;
  const [found] = await database.run({
    name: 'read-role',
    text: `SELECT rolconnlimit AS connections, has_schema_privilege(rolname, $2, 'USAGE') AS usage
      FROM pg_catalog.pg_roles WHERE rolname = $1`,
    values: [role, schema],
  });
  if (found === undefined) return [problem('role_missing', `The database has no role ${role}.`)];
  const tables = [VERSION_TABLE, ...tablesOf(migrations)].filter((table) => !missing.includes(table));
  const expected = tables.flatMap((table) => [
    ...privilegesFor(table).map((privilege) => ({ table, privilege, isGranted: true })),
    ...refusedPrivilegesFor(table).map((privilege) => ({ table, privilege, isGranted: false })),
  ]);
  const different = await database.run({
    name: 'compare-privileges',
    // A needed privilege must be for the whole table. A refused privilege must not even be granted for single columns.
    text: `SELECT * FROM jsonb_to_recordset($2::jsonb) AS expected ("table" text, privilege text, "isGranted" boolean)
      WHERE "isGranted" <> CASE WHEN "isGranted" OR privilege IN ('DELETE', 'TRUNCATE')
        THEN has_table_privilege($1, $3 || '.' || "table", privilege)
        ELSE has_any_column_privilege($1, $3 || '.' || "table", privilege) END`,
    values: [role, JSON.stringify(expected), schema],
  });
  return [
    ...(Number(found['connections']) < 0 && engine === 'postgres'
      ? [
          problem(
            'connection_limit_missing',
            `The role ${role} has no connection limit: use ALTER ROLE … CONNECTION LIMIT.`,
          ),
        ]
      : []),
    ...(found['usage'] === true
      ? []
      : [problem('privilege_missing', `The role ${role} lacks USAGE on the schema ${schema}.`)]),
    ...different.map(({ table, privilege, isGranted }) =>
      isGranted === true
        ? problem('privilege_missing', `The role ${role} lacks ${String(privilege)} on the table ${String(table)}.`)
        : problem(
            'privilege_excessive',
            `The role ${role} must not have ${String(privilege)} on the table ${String(table)}.`,
          ),
    ),
  ];
}
