import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { AmbiguousError } from '../../lambdas/kernel/faults.ts';
import { checkSchema, type SchemaProblem } from '../../lambdas/postgres/check-schema.ts';
import type { Runner, Statement } from '../../lambdas/postgres/database.ts';
import { migrate } from '../../lambdas/postgres/migrate.ts';
import { type Migration, parseMigration } from '../../lambdas/postgres/migrations.ts';
import { asUser, startPostgres, type TestDatabase } from '../support/postgres.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { sliceOf, whole } from '../support/slice.ts';
import { Administrator, Databases, sql } from './postgres-fixture.ts';

const FIRST = parseMigration(
  '0001-first.sql',
  `-- Transitions; append-only.
  CREATE TABLE IF NOT EXISTS transition (
    id text CONSTRAINT transition_pkey PRIMARY KEY -- an id
  );
  CREATE TABLE IF NOT EXISTS posting (id text CONSTRAINT posting_pkey PRIMARY KEY, amount bigint NOT NULL);
  CREATE TABLE IF NOT EXISTS work (id text CONSTRAINT work_pkey PRIMARY KEY, due_at timestamptz);
  CREATE INDEX IF NOT EXISTS work_due ON work (due_at);`,
);
const SECOND = parseMigration(
  '0002-second.sql',
  `ALTER TABLE work ADD COLUMN IF NOT EXISTS queue text;
  CREATE TABLE IF NOT EXISTS orphan (id text CONSTRAINT orphan_pkey PRIMARY KEY);`,
);
const BOTH = [FIRST, SECOND];

let server: TestDatabase;
let administrator: Administrator;
/** A role that only this file uses. All databases of a server share its roles, and other test files use this server. */
const role = `payonce_functions_${process.pid}`;
const databases = new Databases();

beforeAll(async () => {
  server = await startPostgres();
  administrator = await Administrator.connect(server.url);
  await administrator.query(`CREATE ROLE ${role} LOGIN PASSWORD 'p' CONNECTION LIMIT 50`);
});
beforeEach(() => administrator.query('DROP SCHEMA IF EXISTS payonce CASCADE'));
afterEach(() => databases.close());
afterAll(async () => {
  await administrator.query(`DROP OWNED BY ${role} CASCADE`);
  await administrator.query(`DROP ROLE ${role}`);
  await administrator.end();
  await server.drop();
});

const clock = new SimulatedClock();
const open = (): Runner => databases.open(server.url);

async function run(database: Runner, migrations: readonly Migration[] = BOTH): Promise<readonly string[]> {
  return migrate({ database, clock, migrations, role });
}

async function problems(migrations: readonly Migration[] = BOTH): Promise<readonly SchemaProblem['code'][]> {
  const found = await checkSchema({ database: open(), migrations, role });
  return found.map(({ code }) => code);
}

async function structure(): Promise<unknown> {
  return [
    await administrator.query(`SELECT table_name, column_name, data_type, is_nullable
      FROM information_schema.columns WHERE table_schema = 'payonce' ORDER BY 1, 2`),
    await administrator.query(`SELECT indexdef FROM pg_indexes WHERE schemaname = 'payonce' ORDER BY 1`),
  ];
}

/** Throws after it has executed the statement with this number. */
function failingAfter(database: Runner, statements: number, failure: Error): Runner & { count: number } {
  const failing = {
    count: 0,
    run: async (statement: Statement) => {
      const rows = await database.run(statement);
      failing.count += 1;
      if (failing.count === statements) throw failure;
      return rows;
    },
  };
  return failing;
}

describe('migrations', () => {
  test('are applied in order, and only once', async () => {
    expect(await problems()).toEqual(['schema_missing']);
    expect(await run(open())).toEqual(['0001', '0002']);
    expect(await problems()).toEqual([]);
    expect(await run(open())).toEqual([]);
    expect(await administrator.query('SELECT version, applied_at FROM payonce.schema_version ORDER BY 1')).toEqual([
      { version: '0001', applied_at: new Date(clock.nowMs()) },
      { version: '0002', applied_at: new Date(clock.nowMs()) },
    ]);
  });

  test('are applied to a database with rows', async () => {
    await run(open(), [FIRST]);
    await administrator.query("INSERT INTO payonce.work VALUES ('w')");
    expect(await problems()).toEqual(['migration_missing', 'table_missing']);
    expect(await run(open())).toEqual(['0002']);
    expect(await administrator.query('SELECT id, queue FROM payonce.work')).toEqual([{ id: 'w', queue: null }]);
  });

  test('are completed by the next run if a run crashes after any statement', async () => {
    const counted = failingAfter(open(), Number.POSITIVE_INFINITY, new Error('never'));
    await run(counted);
    const complete = await structure();
    const crashes = Array.from({ length: counted.count }, (_, index) => index + 1);
    for (const statements of sliceOf(crashes, 5)) {
      await administrator.query('DROP SCHEMA payonce CASCADE');
      await expect(run(failingAfter(open(), statements, new Error('crash')))).rejects.toThrow('crash');
      await run(open());
      expect({ statements, problems: await problems() }).toEqual({ statements, problems: [] });
      expect(await structure()).toEqual(complete);
      await databases.close();
    }
    expect(counted.count).toBeGreaterThan(15);
  });

  test('succeed if the response to any statement after the first is lost', async () => {
    const counted = failingAfter(open(), Number.POSITIVE_INFINITY, new Error('never'));
    await run(counted);
    // The first statement is not repeated, so that an unreachable server is reported immediately.
    const losses = Array.from({ length: counted.count - 1 }, (_, index) => index + 2);
    for (const statements of sliceOf(losses, 5)) {
      await administrator.query('DROP SCHEMA payonce CASCADE');
      await run(failingAfter(open(), statements, new AmbiguousError('store_ambiguous', 'lost')));
      expect({ statements, problems: await problems() }).toEqual({ statements, problems: [] });
      await databases.close();
    }
  });

  test('succeed for several concurrent runners', async () => {
    for (let round = 0; round < whole(5, { slice: 2 }); round += 1) {
      await administrator.query('DROP SCHEMA IF EXISTS payonce CASCADE');
      const runners = Array.from({ length: 6 }, () => open());
      await Promise.all(runners.map((database) => database.run(sql('SELECT 1'))));
      const applied = await Promise.all(runners.map((database) => run(database)));
      expect(new Set(applied.flat())).toEqual(new Set(['0001', '0002']));
      expect(await problems()).toEqual([]);
      await databases.close();
    }
  });

  test('are refused without any change if a migration in the database has different content', async () => {
    await run(open());
    const changed = parseMigration('0001-first.sql', 'CREATE TABLE IF NOT EXISTS surprise (id text);');
    await expect(run(open(), [changed, SECOND])).rejects.toThrow(
      'migration 0001 in the database differs from this version',
    );
    expect(await problems([changed, SECOND])).toEqual(['migration_changed', 'table_missing']);
  });

  test('are reported if they come from a newer version', async () => {
    await run(open());
    expect(await problems([FIRST])).toEqual(['migration_unknown']);
    expect(await run(open(), [FIRST])).toEqual([]);
  });

  test('require no privilege on the database if the user owns the schema', async () => {
    const owner = `payonce_owner_${process.pid}`;
    await administrator.query(`CREATE ROLE ${owner} LOGIN PASSWORD 'p'`);
    await administrator.query(`CREATE SCHEMA payonce AUTHORIZATION ${owner}`);
    await run(databases.open(asUser(server.url, owner, 'p')));
    expect(await problems()).toEqual([]);
    await databases.close();
    await administrator.query(`DROP OWNED BY ${owner} CASCADE`);
    await administrator.query(`DROP ROLE ${owner}`);
  });
});

describe("the functions' role", () => {
  const asRole = (): Runner => databases.open(asUser(server.url, role, 'p'));
  const may = (text: string): Promise<boolean> =>
    asRole()
      .run(sql(text))
      .then(
        () => true,
        (error: unknown) => {
          expect(error).toMatchObject({ cause: { code: '42501' } });
          return false;
        },
      );

  test.each(['transition', 'posting'])(
    'can insert rows of %s, but can neither change nor delete them',
    async (table) => {
      await run(open());
      const [column, value] = table === 'posting' ? ['id, amount', "'a', 1"] : ['id', "'a'"];
      expect(await may(`INSERT INTO ${table} (${column}) VALUES (${value})`)).toBe(true);
      expect(await may(`SELECT * FROM ${table}`)).toBe(true);
      expect(await may(`UPDATE ${table} SET id = 'b'`)).toBe(false);
      expect(await may(`UPDATE ${table} SET id = 'b' WHERE false`)).toBe(false);
      expect(
        await may(`INSERT INTO ${table} (${column}) VALUES (${value}) ON CONFLICT (id) DO UPDATE SET id = 'b'`),
      ).toBe(false);
      expect(await may(`DELETE FROM ${table}`)).toBe(false);
      expect(await may(`TRUNCATE ${table}`)).toBe(false);
      expect(await may(`ALTER TABLE ${table} ADD COLUMN extra text`)).toBe(false);
      expect(await may(`DROP TABLE ${table}`)).toBe(false);
      expect(await administrator.query(`SELECT id FROM payonce.${table}`)).toEqual([{ id: 'a' }]);
    },
  );

  test('can change and delete rows of other tables, but not the applied migrations', async () => {
    await run(open());
    expect(await may("INSERT INTO work (id) VALUES ('w')")).toBe(true);
    expect(await may("UPDATE work SET queue = 'q'")).toBe(true);
    expect(await may('DELETE FROM work')).toBe(true);
    expect(await may('SELECT * FROM schema_version')).toBe(true);
    expect(await may('DELETE FROM schema_version')).toBe(false);
    expect(await may('CREATE TABLE extra (id text)')).toBe(false);
  });

  test('loses excessive privileges at the next run of the migrations', async () => {
    await run(open());
    await administrator.query(`GRANT ALL ON payonce.transition TO ${role}`);
    expect(await problems()).toEqual(['privilege_excessive', 'privilege_excessive', 'privilege_excessive']);
    await run(open());
    expect(await problems()).toEqual([]);
  });

  test.each([
    { damage: `GRANT UPDATE (amount) ON payonce.posting TO ${role}`, found: ['privilege_excessive'] },
    { damage: `REVOKE INSERT ON payonce.posting FROM ${role}`, found: ['privilege_missing'] },
    { damage: `REVOKE USAGE ON SCHEMA payonce FROM ${role}`, found: ['privilege_missing'] },
    { damage: 'DROP TABLE payonce.orphan', found: ['table_missing'] },
    { damage: 'DROP TABLE payonce.schema_version', found: ['table_missing'] },
  ])('has a check that reports this damage: $damage', async ({ damage, found }) => {
    await run(open());
    await administrator.query(damage);
    expect(await problems()).toEqual(found);
  });

  test('has a check that reports a missing connection limit', async () => {
    await run(open());
    await administrator.query(`ALTER ROLE ${role} CONNECTION LIMIT -1`);
    expect(await problems()).toEqual(['connection_limit_missing']);
    await administrator.query(`ALTER ROLE ${role} CONNECTION LIMIT 50`);
  });

  test('has a check that reports a server whose version is too old', async () => {
    await run(open());
    const database = open();
    const old: Runner = {
      run: async (statement) =>
        statement.name === 'server-version' ? [{ version: 120_022, name: '12.22' }] : database.run(statement),
    };
    expect(await checkSchema({ database: old, migrations: BOTH, role })).toEqual([
      { code: 'server_too_old', detail: 'The server has PostgreSQL 12.22; Payonce needs 13 or newer.' },
    ]);
  });

  test('must exist before the migrations, and is reported if it is missing', async () => {
    const missing = migrate({ database: open(), clock, migrations: BOTH, role: 'absent' });
    await expect(missing).rejects.toThrow('the database has no role absent');
    expect(await problems()).toEqual(['schema_missing']);
    await run(open());
    const found = await checkSchema({ database: open(), migrations: BOTH, role: 'absent' });
    expect(found.map(({ code }) => code)).toEqual(['role_missing']);
  });
});
