import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import ts from 'typescript';
import { parseMigration, readMigrations, statementFor } from '../../lambdas/postgres/migrations.ts';
import { PROJECT } from '../../local/directories.ts';

/**
 * Patterns, each with examples, of syntax that Aurora DSQL does not support (user guide, "Unsupported PostgreSQL
 * features"), and of functions that read the server's clock, because statements receive all times as parameters.
 */
const REFUSED: readonly (readonly [pattern: RegExp, examples: readonly string[]])[] = [
  [/\b(?:big|small)?serial\b|\bnextval\b/i, ['id bigserial', "nextval('a')"]],
  [/\bSEQUENCE\b|\bAS IDENTITY\b/, ['CREATE SEQUENCE a', 'GENERATED ALWAYS AS IDENTITY']],
  [
    /\b(?:TRIGGER|FUNCTION|PROCEDURE|EXTENSION|DOMAIN|RULE|POLICY|MATERIALIZED)\b/,
    ['CREATE TRIGGER t', 'DROP FUNCTION f'],
  ],
  [/\bLANGUAGE\b|\bDO \$/, ['DO $$ BEGIN END $$', 'LANGUAGE plpgsql']],
  [/\bpg_(?:try_)?advisory/i, ['SELECT pg_try_advisory_lock(1)']],
  [/\bSKIP LOCKED\b|\bNOWAIT\b|\bLOCK TABLE\b/, ['FOR UPDATE SKIP LOCKED']],
  [/\bFOR (?:NO KEY UPDATE|KEY SHARE|SHARE)\b/, ['SELECT 1 FOR SHARE']],
  [/\b(?:UN)?LISTEN\b|\bNOTIFY\b|\bpg_notify\b/, ['LISTEN outbox', "SELECT pg_notify('a', 'b')"]],
  [/\bSAVEPOINT\b|\bPREPARE TRANSACTION\b/, ['SAVEPOINT a', 'ROLLBACK TO SAVEPOINT a']],
  [/\bFOREIGN KEY\b|\bREFERENCES\b|\bEXCLUDE\b|\bDEFERRABLE\b/, ['id text REFERENCES a']],
  [/\bTRUNCATE \w|\bVACUUM\b|\bCOPY \w+ (?:FROM|TO)\b/, ['TRUNCATE TABLE a']],
  [/\b(?:TEMP|TEMPORARY|UNLOGGED) TABLE\b|\bINHERITS\b|\bTABLESPACE\b/, ['CREATE TEMP TABLE a']],
  [/\bDECLARE \w+ CURSOR\b|\bFETCH NEXT\b/, ['DECLARE c CURSOR FOR SELECT 1']],
  [/\bnow\(\)|\bCURRENT_(?:TIMESTAMP|TIME|DATE)\b|\b(?:clock|statement|transaction)_timestamp\b/i, ['SELECT now()']],
];
/** Column types that Aurora DSQL supports only at run time (user guide, "Supported data types in Aurora DSQL"). */
const REFUSED_COLUMNS = /\bjsonb\b|\b\w+\[\]|\bxml\b|\bmoney\b/i;

function refusedIn(text: string): string | undefined {
  return REFUSED.map(([pattern]) => pattern.exec(text)?.[0]).find((found) => found !== undefined);
}

/** The strings include all SQL statements. */
function stringsOf(path: string): readonly string[] {
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node))
      found.push(node.text);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

describe('the statements for PostgreSQL and Aurora DSQL', () => {
  const sources = globSync(['lambdas/postgres/*.ts', 'lambdas/*/store/postgres-*.ts'], { cwd: PROJECT });

  test.each(sources)('use only syntax that Aurora DSQL supports: %s', (path) => {
    const refused = stringsOf(join(PROJECT, path)).flatMap((text) => refusedIn(text) ?? []);
    expect(refused).toEqual([]);
  });

  test('lock rows only by their full primary key', () => {
    const locks = sources.flatMap((path) =>
      stringsOf(join(PROJECT, path)).flatMap((text) => text.match(/FROM \w+ WHERE [^()]* FOR UPDATE/g) ?? []),
    );
    expect(locks.toSorted()).toEqual([
      'FROM details WHERE chain_id = $13 AND part = $14 FOR UPDATE',
      'FROM orphan WHERE operation_id = $10 FOR UPDATE',
    ]);
  });

  test.each(REFUSED.flatMap(([, examples]) => examples))('fail this check if they contain %s', (example) => {
    expect(refusedIn(example)).toBeDefined();
  });
});

describe.each([
  ['migrations', 'deployment'],
  ['service-migrations', 'service'],
] as const)('the files in %s', (name, of) => {
  const folder = join(PROJECT, 'lambdas/postgres', name);
  const migrations = readMigrations(of);

  test('contain no statement and no column type that Aurora DSQL refuses', () => {
    const statements = migrations.flatMap((migration) => migration.statements);
    expect(statements.flatMap((text) => refusedIn(text) ?? REFUSED_COLUMNS.exec(text)?.[0] ?? [])).toEqual([]);
  });

  test('create indexes asynchronously on Aurora DSQL; the other statements are the same as on PostgreSQL', () => {
    const statements = migrations.flatMap((migration) => migration.statements);
    const onDsql = statements.map((text) => statementFor('dsql', text));
    expect(onDsql.map((text) => text.replace(/^CREATE INDEX ASYNC IF NOT/, 'CREATE INDEX IF NOT'))).toEqual(statements);
    expect(onDsql.filter((text) => /^CREATE INDEX (?!ASYNC )/.test(text))).toEqual([]);
    expect(statements.map((text) => statementFor('postgres', text))).toEqual(statements);
    // On Aurora DSQL, each statement runs in its own transaction, which may contain only one schema change.
    expect(onDsql.filter((text) => (text.match(/\b(?:CREATE|ALTER)\b/g) ?? []).length !== 1)).toEqual([]);
  });

  test('have consecutive version numbers', () => {
    const versions = migrations.map(({ version }) => Number(version));
    expect(versions).toEqual(versions.map((_, index) => index + 1));
  });

  test('document each column and each index', () => {
    const undocumented = globSync('*.sql', { cwd: folder }).flatMap((file) => {
      const lines = readFileSync(join(folder, file), 'utf8').split('\n');
      return lines.filter((line, index) => {
        const isNamed = /^ {2}[a-z]\w* /.test(line) || /^(?:CREATE|ALTER) /.test(line);
        return isNamed && !/^\s*--/.test(lines[index - 1] ?? '');
      });
    });
    expect(undocumented).toEqual([]);
  });
});

describe('a migration', () => {
  test('is split at semicolons, and keeps its digest when only comments change', () => {
    const text =
      'CREATE TABLE IF NOT EXISTS a (\n  -- An id; unique.\n  id text\n);\nCREATE INDEX IF NOT EXISTS b ON a (id);\n';
    const migration = parseMigration('0001-a.sql', text);
    expect(migration.statements).toEqual([
      'CREATE TABLE IF NOT EXISTS a (\n  \n  id text\n)',
      'CREATE INDEX IF NOT EXISTS b ON a (id)',
    ]);
    expect(parseMigration('0001-a.sql', text.replace('An id; unique.', 'The id.')).digest).toBe(migration.digest);
    expect(parseMigration('0001-a.sql', text.replace('id text', 'id uuid')).digest).not.toBe(migration.digest);
  });

  test.each([
    'CREATE TABLE a (id text);',
    'CREATE INDEX b ON a (id);',
    'ALTER TABLE a ADD COLUMN b text;',
    'ALTER TABLE a DROP COLUMN IF EXISTS b;',
    'DROP TABLE IF EXISTS a;',
    'UPDATE a SET id = 1;',
  ])('is refused if it cannot be repeated, or does more than add objects: %s', (text) => {
    expect(() => parseMigration('0001-a.sql', text)).toThrow(
      /^0001-a\.sql: ".+" cannot be repeated, or does more than add objects$/,
    );
  });

  test('is refused if its file name has no version number', () => {
    expect(() => parseMigration('first.sql', '')).toThrow(
      'first.sql is not a migration: name it like 0001-subject.sql',
    );
  });
});
