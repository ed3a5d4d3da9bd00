import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MOVE_TABLE, VERSION_TABLE } from './contract.ts';
import type { Engine } from './dsql.ts';

/** Folders of files `<version>-<subject>.sql`, applied in the order of their versions. */
const FOLDERS = {
  /** The tables of a deployment whose authority is PostgreSQL. */
  deployment: join(import.meta.dirname, 'migrations'),
  /** The tables of a team's service. */
  service: join(import.meta.dirname, 'service-migrations'),
} as const;

/**
 * The statements that a migration may have. Each can be repeated, so that an interrupted run can start the file again,
 * and two runs can overlap. Each only adds objects, so that functions of the previous version work until the deployment
 * has replaced them. Each is a transaction of its own, as Aurora DSQL requires.
 */
const ADDITIVE =
  /^(?:CREATE TABLE IF NOT EXISTS|CREATE INDEX IF NOT EXISTS|ALTER TABLE \w+ ADD COLUMN IF NOT EXISTS) \w+/;

/** Tables whose rows the functions' role may insert, but not change or delete. */
export const APPEND_ONLY: ReadonlySet<string> = new Set([
  'transition',
  'posting',
  'approval',
  'approval_end',
  'activity',
]);

export interface Migration {
  /** The number at the start of the file name, for example 0001. */
  readonly version: string;
  readonly statements: readonly string[];
  /** SHA-256 of the statements without comments, in hexadecimal. */
  readonly digest: string;
}

export function readMigrations(of: keyof typeof FOLDERS = 'deployment'): readonly Migration[] {
  const folder = FOLDERS[of];
  return readdirSync(folder)
    .filter((file) => file.endsWith('.sql'))
    .toSorted()
    .map((file) => parseMigration(file, readFileSync(join(folder, file), 'utf8')));
}

/** Parses a file of statements that each end with a semicolon at the end of a line. */
export function parseMigration(file: string, text: string): Migration {
  const [, version] = /^(\d{4})-[a-z0-9-]+\.sql$/.exec(file) ?? [];
  if (version === undefined) throw new Error(`${file} is not a migration: name it like 0001-subject.sql`);
  const statements = text
    .replaceAll(/--.*$/gm, '')
    .split(/;\s*$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
  const refused = statements.find((statement) => !ADDITIVE.test(statement));
  if (refused !== undefined)
    throw new Error(`${file}: "${refused.split('\n')[0]}" cannot be repeated, or does more than add objects`);
  const digest = createHash('sha256').update(statements.join(';').replaceAll(/\s+/g, ' ')).digest('hex');
  return { version, statements, digest };
}

/**
 * Aurora DSQL supports only the asynchronous creation of indexes (user guide, "Asynchronous indexes in Aurora DSQL").
 */
export function statementFor(engine: Engine, statement: string): string {
  return engine === 'dsql' ? statement.replace(/^CREATE INDEX /, 'CREATE INDEX ASYNC ') : statement;
}

export function tablesOf(migrations: readonly Migration[]): readonly string[] {
  return migrations.flatMap(({ statements }) =>
    statements.flatMap((statement) => /^CREATE TABLE IF NOT EXISTS (\w+)/.exec(statement)?.slice(1) ?? []),
  );
}

export function privilegesFor(table: string): readonly string[] {
  if (table === VERSION_TABLE || table === MOVE_TABLE) return ['SELECT'];
  return APPEND_ONLY.has(table) ? ['SELECT', 'INSERT'] : ['SELECT', 'INSERT', 'UPDATE', 'DELETE'];
}

export function refusedPrivilegesFor(table: string): readonly string[] {
  return ['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE'].filter((privilege) => !privilegesFor(table).includes(privilege));
}
