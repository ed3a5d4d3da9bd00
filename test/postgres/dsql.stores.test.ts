/** Tests on PostgreSQL how connections and statements respect the limits of Aurora DSQL. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { clearTables } from '../../lambdas/authority/store/postgres-imported-tables.ts';
import type { Database, Statement } from '../../lambdas/postgres/database.ts';
import { DSQL_CONNECTION_MS } from '../../lambdas/postgres/dsql.ts';
import { parseServerUrl } from '../../lambdas/postgres/server.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { DSQL_LIMITS, runAsOnDsql } from './describe-on-postgres.ts';
import { Databases, sql } from './postgres-fixture.ts';
import { asFunctions, createDatabase, toolsOn } from './store-database.ts';

const databases = new Databases();
let url: string;
beforeAll(async () => {
  url = asFunctions(await createDatabase());
});
afterAll(() => databases.close());

const SESSION = sql('SELECT pg_backend_pid() AS pid');

describe('a connection', () => {
  test('is replaced, with a new token, before the cluster closes it', async () => {
    const clock = new SimulatedClock();
    const server = parseServerUrl(url);
    let tokens = 0;
    const password = async (): Promise<string> => {
      tokens += 1;
      return String(server.password);
    };
    const credentials = { current: async () => ({ ...server, password }), renewed: async () => undefined };
    const database = databases.open(url, { credentials, clock, engine: 'dsql' });
    const [first] = await database.run(SESSION);
    clock.advance(DSQL_CONNECTION_MS - 1);
    expect(await database.run(SESSION)).toEqual([first]);
    expect(tokens).toBe(1);
    clock.advance(1);
    expect(await database.run(SESSION)).not.toEqual([first]);
    expect(tokens).toBe(2);
  });

  test('is not replaced if the engine is PostgreSQL', async () => {
    const clock = new SimulatedClock();
    const database = databases.open(url, { clock });
    const first = await database.run(SESSION);
    clock.advance(DSQL_CONNECTION_MS);
    expect(await database.run(SESSION)).toEqual(first);
  });

  test('sets no time limits on Aurora DSQL, whose clusters have fixed ones', async () => {
    const names = ['search_path', 'lock_timeout', 'statement_timeout', 'tcp_keepalives_idle'];
    const text = 'SELECT current_setting(name) AS value FROM unnest($1::text[]) AS name';
    const values = async (engine: 'postgres' | 'dsql') =>
      (await databases.open(url, { engine }).run(sql(text, names))).map(({ value }) => value);
    expect((await values('postgres')).slice(0, 3)).toEqual(['payonce', '4s', '8s']);
    expect((await values('dsql')).slice(0, 3)).toEqual(['payonce', '0', '0']);
  });
});

describe('a transaction', () => {
  const FILL = sql(
    `INSERT INTO orphan (operation_id, received_at, reason, event)
     SELECT number::text, '2026-03-01', 'charge_unknown', '{}' FROM generate_series(1, $1::integer) AS number`,
    DSQL_LIMITS.rows + 500,
  );
  const refusing = (database: Database, seen: Statement[] = []): Database => ({
    run: async (statement) => {
      seen.push(statement);
      return database.transaction((transaction) => runAsOnDsql(transaction, statement));
    },
    transaction: (work) => database.transaction(work),
  });

  test('with too many rows is refused, so an import clears each table in several transactions', async () => {
    const database = databases.open(url);
    await database.run(FILL);
    await expect(refusing(database).run(sql('DELETE FROM orphan'))).rejects.toThrow('transaction row limit exceeded');
    const seen: Statement[] = [];
    await clearTables(toolsOn(refusing(database, seen)), async () => undefined);
    expect(await database.run(sql('SELECT count(*) AS rows FROM orphan'))).toEqual([{ rows: 0 }]);
    expect(seen.filter(({ name }) => name === 'import-clear-orphan')).toHaveLength(5);
  });
});
