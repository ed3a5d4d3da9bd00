import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { problemsOfDatabase } from '../../cli/db.ts';
import { ExitCode, endingOf } from '../../cli/failure.ts';
import { payonceProgram } from '../../cli/program.ts';
import type { Session } from '../../cli/session.ts';
import { readMigrations, tablesOf } from '../../lambdas/postgres/migrations.ts';
import { Administrator } from '../postgres/postgres-fixture.ts';
import { asUser, startPostgres, type TestDatabase } from '../support/postgres.ts';

const role = `payonce_cli_${process.pid}`;
let server: TestDatabase;
let administrator: Administrator;

beforeAll(async () => {
  server = await startPostgres();
  administrator = await Administrator.connect(server.url);
  await administrator.query(`CREATE ROLE ${role} LOGIN PASSWORD 'p' CONNECTION LIMIT 50`);
});
afterEach(() => {
  delete process.env['PAYONCE_DATABASE_URL'];
});
afterAll(async () => {
  await administrator.query(`DROP OWNED BY ${role} CASCADE`);
  await administrator.query(`DROP ROLE ${role}`);
  await administrator.end();
  await server.drop();
});

async function payonce(...words: readonly string[]) {
  const printed: string[] = [];
  const program = payonceProgram({ print: (text) => printed.push(text), isTerminal: false, freshKey: () => 'key' });
  const error: unknown = await program.parseAsync(words, { from: 'user' }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  const ended = error === undefined ? undefined : endingOf(error);
  return { exitCode: ended?.exitCode ?? ExitCode.done, sentence: ended?.sentence, printed };
}

describe('payonce db', () => {
  test('creates the tables once, and checks them', async () => {
    process.env['PAYONCE_DATABASE_URL'] = server.url;
    expect(await payonce('db', 'check', '--role', role)).toEqual({
      exitCode: ExitCode.incomplete,
      sentence: 'Problems found: 1.',
      printed: ['The database has no schema payonce: run "payonce db migrate".'],
    });
    const applied = readMigrations().map(({ version }) => version);
    expect(await payonce('db', 'migrate', '--role', role)).toEqual({
      exitCode: ExitCode.done,
      printed: [`Migrations applied: ${applied.join(', ')}.\nThe role ${role} has the privileges that it needs.`],
    });
    expect(await payonce('db', 'migrate', '--json')).toEqual({
      exitCode: ExitCode.done,
      printed: [JSON.stringify({ applied: [] }, null, 2)],
    });
    expect(await payonce('db', 'check', '--role', role)).toEqual({
      exitCode: ExitCode.done,
      printed: ['No problems found.'],
    });
  });

  test.each([
    { schema: 'payonce_once', words: [] },
    { schema: 'loyalty_once', words: ['loyalty_once'] },
  ])('creates and checks the table of a service in the schema $schema', async ({ schema, words }) => {
    process.env['PAYONCE_DATABASE_URL'] = server.url;
    const db = (...given: readonly string[]) => payonce('db', ...given, '--role', role, '--service', ...words);
    expect(await db('check')).toMatchObject({
      exitCode: ExitCode.incomplete,
      printed: [`The database has no schema ${schema}: run "payonce db migrate".`],
    });
    const migrations = readMigrations('service');
    const applied = migrations.map(({ version }) => version).join(', ');
    const done = `Migrations applied: ${applied}.\nThe role ${role} has the privileges that it needs.`;
    expect(await db('migrate')).toEqual({ exitCode: ExitCode.done, printed: [done] });
    expect(await db('check')).toEqual({ exitCode: ExitCode.done, printed: ['No problems found.'] });
    const tables = 'SELECT tablename FROM pg_tables WHERE schemaname = $1 ORDER BY 1';
    const made = await administrator.query(tables, [schema]);
    expect(made.map(({ tablename }) => tablename)).toEqual(['schema_version', ...tablesOf(migrations)].toSorted());
  });

  test('refuses a schema name that would need quotation marks', async () => {
    const ended = await payonce('db', 'migrate', '--url', server.url, '--service', 'a"b');
    expect(ended).toMatchObject({ exitCode: ExitCode.usage });
  });

  test("checks the tables as the functions' database user, who may not create them", async () => {
    const url = asUser(server.url, role, 'p');
    expect(await payonce('db', 'check', '--role', role, '--url', url)).toMatchObject({ exitCode: ExitCode.done });
    const refused = await payonce('db', 'migrate', '--role', role, '--url', url);
    expect(refused).toMatchObject({ exitCode: ExitCode.refused, printed: [] });
    expect(refused.sentence).toMatch(/^The database refused a statement: permission denied for schema payonce/);
  });

  test('reports a role that does not exist', async () => {
    expect(await payonce('db', 'migrate', '--role', 'absent', '--url', server.url)).toMatchObject({
      exitCode: ExitCode.refused,
      sentence: 'The database has no role absent: create it with CREATE ROLE … LOGIN CONNECTION LIMIT ….',
    });
  });

  test('reports a password that the server rejects, without repeating the password', async () => {
    const url = asUser(server.url, 'postgres', 'my-secret');
    const ended = await payonce('db', 'check', '--role', role, '--url', url);
    expect(ended.exitCode).toBe(ExitCode.settings);
    expect(ended.sentence).toMatch(/^The database does not accept the user postgres: /);
    expect(ended.sentence).not.toContain('my-secret');
  });

  test('requires TLS when a CA is given', async () => {
    const ended = await payonce('db', 'check', '--role', role, '--url', server.url, '--ca', import.meta.filename);
    expect(ended).toMatchObject({ exitCode: ExitCode.settings });
    expect(ended.sentence).toMatch(/^The certificate of 127\.0\.0\.1 cannot be verified: .+ Set its CA with --ca\.$/);
  });
});

describe('problemsOfDatabase', () => {
  async function examine(
    secret: object,
    settings: Readonly<Record<string, string>> = {},
    description: object = {},
  ): Promise<readonly string[]> {
    // The server sends the same response to the read and to the description of the secret.
    const secretsManager = createServer((_, response) =>
      response.end(JSON.stringify({ SecretString: JSON.stringify(secret), ...description })),
    );
    secretsManager.listen(0, '127.0.0.1');
    await once(secretsManager, 'listening');
    const { port } = secretsManager.address() as AddressInfo;
    const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
    const target = { endpoint: `http://127.0.0.1:${port}`, region: 'eu-west-1', credentials };
    const session: Pick<Session, 'aws'> = { aws: async () => target };
    try {
      return await problemsOfDatabase(session, { authority: 'postgres', postgresSecretArn: 'arn', ...settings });
    } finally {
      secretsManager.close();
      secretsManager.closeAllConnections();
    }
  }

  test("finds no problem in a database with this version’s tables, as the functions' user", async () => {
    const { hostname: host, port: of, pathname } = new URL(server.url);
    const own = { username: role, password: 'p', dbname: pathname.slice(1) };
    expect(await examine(own, { postgresHost: host, postgresPort: of })).toEqual([]);
  });

  test('reports that the functions are not allowed to use the KMS key of the secret', async () => {
    const { hostname: host, port: of, pathname } = new URL(server.url);
    const own = { username: role, password: 'p', dbname: pathname.slice(1) };
    const problemsWith = (KmsKeyId: string, settings: Readonly<Record<string, string>> = {}) =>
      examine(own, { postgresHost: host, postgresPort: of, ...settings }, { KmsKeyId });
    const [id, key] = ['0a1b', 'arn:aws:kms:eu-west-1:111122223333:key/0a1b'];
    const found = [expect.stringContaining('as payonce:postgresSecretKeyArn, so that the functions may decrypt')];
    expect(await problemsWith(id)).toEqual(found);
    expect(await problemsWith('alias/mine')).toEqual(found);
    expect(await problemsWith(key, { postgresSecretKeyArn: `${key}2` })).toEqual(found);
    for (const named of [id, key, 'alias/mine'])
      expect(await problemsWith(named, { postgresSecretKeyArn: key })).toEqual([]);
    expect(await problemsWith('alias/aws/secretsmanager')).toEqual([]);
  });

  test('reports a server that cannot be reached, and a secret without the required fields', async () => {
    const closed = { username: role, password: 'p', host: '127.0.0.1', port: 1, dbname: 'payonce' };
    expect(await examine(closed)).toEqual([
      expect.stringMatching(
        /^The database at 127\.0\.0\.1:1 cannot be reached: .+ Run "payonce db check" on a host that can reach the database\.$/,
      ),
    ]);
    expect(await examine({ username: role })).toEqual([expect.stringContaining('has no valid password')]);
  });
});
