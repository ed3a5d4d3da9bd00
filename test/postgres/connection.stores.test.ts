import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { faultAnswer } from '../../lambdas/http/http-answer.ts';
import { AmbiguousError, RetryableError, TerminalError } from '../../lambdas/kernel/faults.ts';
import type { Runner } from '../../lambdas/postgres/database.ts';
import { parseServerUrl } from '../../lambdas/postgres/server.ts';
import { listenNear } from '../../local/free-port.ts';
import { selfMadeCertificate } from '../../local/self-made-certificate.ts';
import { asUser, startPostgres, type TestDatabase } from '../support/postgres.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { Administrator, Databases, sql } from './postgres-fixture.ts';
import { PostgresProxy } from './postgres-proxy.ts';

const UNAVAILABLE = { name: 'RetryableError', code: 'store_unavailable' };
const BUSY = { name: 'RetryableError', code: 'store_busy' };
const CONFLICT = { name: 'RetryableError', code: 'store_conflict' };
const AMBIGUOUS = { name: 'AmbiguousError', code: 'store_ambiguous' };
const REFUSED = { name: 'TerminalError', code: 'store_refused' };

let server: TestDatabase;
let administrator: Administrator;
const databases = new Databases();

beforeAll(async () => {
  server = await startPostgres();
  administrator = await Administrator.connect(server.url);
  await administrator.query('CREATE SCHEMA payonce');
  await administrator.query(`CREATE TABLE payonce.account (
    id text CONSTRAINT account_pkey PRIMARY KEY,
    balance bigint NOT NULL CONSTRAINT account_balance_check CHECK (balance >= 0))`);
});
beforeEach(() => administrator.query("INSERT INTO payonce.account VALUES ('a', 100), ('b', 100)"));
afterEach(async () => {
  await databases.close();
  await administrator.query('DELETE FROM payonce.account');
});
afterAll(async () => {
  await administrator.end();
  await server.drop();
});

const INCREASE_A = sql("UPDATE account SET balance = balance + 1 WHERE id = 'a'");
const INCREASE_B = sql("UPDATE account SET balance = balance + 1 WHERE id = 'b'");

async function balances(): Promise<readonly unknown[]> {
  const rows = await administrator.query('SELECT balance FROM payonce.account ORDER BY id');
  return rows.map(({ balance }) => Number(balance));
}

async function session(runner: Runner): Promise<unknown> {
  const [row] = await runner.run(sql('SELECT pg_backend_pid() AS pid'));
  return row?.['pid'];
}

function gate() {
  return Promise.withResolvers<void>();
}

describe('a session', () => {
  test('has time limits, a schema, an isolation level and keep-alives', async () => {
    const database = databases.open(server.url, { isolation: 'repeatable read' });
    const names = [
      'search_path',
      'datestyle',
      'transaction_isolation',
      'lock_timeout',
      'statement_timeout',
      'idle_in_transaction_session_timeout',
      'tcp_keepalives_idle',
      'application_name',
    ];
    const rows = await database.run(
      sql('SELECT name, current_setting(name) AS value FROM unnest($1::text[]) AS name', names),
    );
    expect(Object.fromEntries(rows.map(({ name, value }) => [name, value]))).toEqual({
      search_path: 'payonce',
      datestyle: 'ISO, MDY',
      transaction_isolation: 'repeatable read',
      lock_timeout: '4s',
      statement_timeout: '8s',
      idle_in_transaction_session_timeout: '5s',
      tcp_keepalives_idle: '60',
      application_name: 'payonce',
    });
  });

  test('returns integers as numbers, and fails for an integer that a number cannot represent', async () => {
    const database = databases.open(server.url);
    const read = (text: string) => database.run(sql('SELECT $1::bigint AS amount', text));
    expect(await read('9007199254740991')).toEqual([{ amount: 9_007_199_254_740_991 }]);
    await expect(read('9007199254740993')).rejects.toThrow(AmbiguousError);
    expect(await read('-1')).toEqual([{ amount: -1 }]);
  });

  test('is reused, even after failed statements', async () => {
    const database = databases.open(server.url);
    const first = await session(database);
    await expect(database.run(sql('SELECT * FROM missing'))).rejects.toMatchObject(REFUSED);
    await expect(database.run(sql("INSERT INTO account VALUES ('a', 1)"))).rejects.toThrow('account_pkey');
    await expect(database.transaction(() => Promise.reject(new Error('a bug')))).rejects.toThrow('a bug');
    expect(await session(database)).toBe(first);
  });

  test('plans a named statement once', async () => {
    const database = databases.open(server.url);
    for (const id of ['a', 'b'])
      await database.run({ name: 'find', text: 'SELECT FROM account WHERE id = $1', values: [id] });
    expect(await database.run(sql('SELECT name FROM pg_prepared_statements'))).toEqual([{ name: 'find' }]);
  });
});

describe('a statement', () => {
  test('fails with the name of the unique constraint that it violates', async () => {
    const database = databases.open(server.url);
    await expect(database.run(sql("INSERT INTO account VALUES ('a', 1)"))).rejects.toMatchObject({
      name: 'UniqueViolation',
      constraint: 'account_pkey',
    });
  });

  test.each(["INSERT INTO account VALUES ('c', -1)", 'SELECT * FROM missing', 'SELECT 1/0', 'no SQL'])(
    'is refused if it cannot succeed: %s',
    async (text) => {
      await expect(databases.open(server.url).run(sql(text))).rejects.toMatchObject(REFUSED);
    },
  );

  test('was not applied if its session is terminated; the next statement uses a new session', async () => {
    const database = databases.open(server.url);
    const slow = database.run(sql("UPDATE account SET balance = 0 WHERE id = 'a' AND pg_sleep(600) IS NOT NULL"));
    const failed = expect(slow).rejects.toMatchObject(UNAVAILABLE);
    await administrator.awaitSessions('pg_sleep(600)', 'active');
    await administrator.endSessions();
    await failed;
    await database.run(INCREASE_A);
    expect(await balances()).toEqual([101, 100]);
  });

  test("was not applied if it exceeds the server's time limit", async () => {
    const database = databases.open(server.url, { statementMs: 1_000 });
    const slow = sql("UPDATE account SET balance = 0 WHERE id = 'a' AND pg_sleep(600) IS NOT NULL");
    await expect(database.run(slow)).rejects.toMatchObject(BUSY);
    expect(await balances()).toEqual([100, 100]);
  });

  test('may have been applied if its client-side timeout expires; the next statement uses a new session', async () => {
    const database = databases.open(server.url);
    const first = await session(database);
    const slow = { ...sql('SELECT pg_sleep(600)'), timeoutMs: 20 };
    await expect(database.run(slow)).rejects.toMatchObject(AMBIGUOUS);
    expect(await session(database)).not.toBe(first);
    await administrator.endSessions();
  });

  test('was not applied if the server is read-only; the next statement uses a new session', async () => {
    const name = parseServerUrl(server.url).database;
    await administrator.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    const database = databases.open(server.url);
    const formerPrimary = await session(database);
    await administrator.query(`ALTER DATABASE ${name} RESET default_transaction_read_only`);
    await expect(database.run(INCREASE_A)).rejects.toMatchObject(UNAVAILABLE);
    expect(await session(database)).not.toBe(formerPrimary);
    await database.run(INCREASE_A);
    expect(await balances()).toEqual([101, 100]);
  });
});

describe('a transaction', () => {
  test('commits all statements or none', async () => {
    const database = databases.open(server.url);
    const both = async (second: string) =>
      database.transaction(async (transaction) => {
        await transaction.run(INCREASE_A);
        return transaction.run(sql(second));
      });
    await expect(both("UPDATE account SET balance = -1 WHERE id = 'b'")).rejects.toMatchObject(REFUSED);
    expect(await balances()).toEqual([100, 100]);
    await expect(both("UPDATE account SET balance = 7 WHERE id = 'b' RETURNING balance")).resolves.toEqual([
      { balance: 7 },
    ]);
    expect(await balances()).toEqual([101, 7]);
  });

  test('never reports success after a failed statement, even if the caller ignored the failure', async () => {
    const database = databases.open(server.url);
    const careless = database.transaction(async (transaction) => {
      await transaction.run(INCREASE_A);
      await transaction.run(sql('SELECT 1/0')).catch(() => undefined);
    });
    await expect(careless).rejects.toMatchObject(REFUSED);
    expect(await balances()).toEqual([100, 100]);
  });

  test('runs no statement after its end', async () => {
    const database = databases.open(server.url);
    let kept: Runner | undefined;
    await database.transaction(async (transaction) => {
      kept = transaction;
    });
    await expect(kept?.run(INCREASE_A)).rejects.toThrow('the transaction has ended');
    expect(await balances()).toEqual([100, 100]);
  });

  test('was not applied if it conflicts with a concurrent transaction', async () => {
    const database = databases.open(server.url, { isolation: 'repeatable read', connections: 2 });
    const late = database.transaction(async (transaction) => {
      await transaction.run(sql('SELECT * FROM account'));
      await database.run(INCREASE_A);
      await transaction.run(INCREASE_B);
      await transaction.run(INCREASE_A);
    });
    await expect(late).rejects.toMatchObject(CONFLICT);
    expect(await balances()).toEqual([101, 100]);
  });

  test('was not applied if it is the victim of a deadlock; the other transaction commits', async () => {
    await administrator.query(`ALTER DATABASE ${parseServerUrl(server.url).database} SET deadlock_timeout = '20ms'`);
    const database = databases.open(server.url, { connections: 2 });
    const [first, second] = [gate(), gate()];
    const inOrder = (one: typeof INCREASE_A, own: typeof first, other: typeof first, two: typeof INCREASE_A) =>
      database.transaction(async (transaction) => {
        await transaction.run(one);
        own.resolve();
        await other.promise;
        await transaction.run(two);
      });
    const ended = await Promise.allSettled([
      inOrder(INCREASE_A, first, second, INCREASE_B),
      inOrder(INCREASE_B, second, first, INCREASE_A),
    ]);
    expect(ended.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(ended.find((each) => each.status === 'rejected')?.reason).toMatchObject(CONFLICT);
    expect(await balances()).toEqual([101, 101]);
  });

  test('waits for a lock, but not longer than its limit', async () => {
    const database = databases.open(server.url, { connections: 3 });
    const [locked, waited] = [gate(), gate()];
    const holder = database.transaction(async (transaction) => {
      await transaction.run(INCREASE_A);
      locked.resolve();
      await waited.promise;
    });
    await locked.promise;
    const impatient = database.transaction(async (transaction) => {
      await transaction.run(sql("SET LOCAL lock_timeout = '20ms'"));
      await transaction.run(INCREASE_A);
    });
    await expect(impatient).rejects.toMatchObject(BUSY);
    const patient = database.run(INCREASE_A);
    await administrator.awaitSessions('UPDATE account', 'Lock');
    waited.resolve();
    await Promise.all([holder, patient]);
    expect(await balances()).toEqual([102, 100]);
  });

  test('was not applied if its function freezes: the server aborts the transaction and releases its lock; the function fails when it continues', async () => {
    const database = databases.open(server.url, { connections: 2 });
    const frozen = database.transaction(async (transaction) => {
      await transaction.run(INCREASE_A);
      await transaction.run(sql("SET LOCAL idle_in_transaction_session_timeout = '20ms'"));
      // Waits for the frozen transaction's lock.
      await database.run(INCREASE_A);
      await transaction.run(INCREASE_B);
    });
    await expect(frozen).rejects.toMatchObject(UNAVAILABLE);
    expect(await balances()).toEqual([101, 100]);
  });

  test('was not applied if its session is terminated before COMMIT', async () => {
    const database = databases.open(server.url);
    const terminated = database.transaction(async (transaction) => {
      await transaction.run(INCREASE_A);
      await administrator.endSessions();
    });
    await expect(terminated).rejects.toMatchObject(UNAVAILABLE);
    expect(await balances()).toEqual([100, 100]);
  });

  test('was not applied if its session is terminated during COMMIT', async () => {
    await administrator.query(`CREATE FUNCTION wait_for_end() RETURNS trigger LANGUAGE plpgsql
      AS $$ BEGIN PERFORM pg_sleep(600); RETURN NULL; END $$`);
    await administrator.query(`CREATE CONSTRAINT TRIGGER slow_commit AFTER UPDATE ON payonce.account
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait_for_end()`);
    const committing = databases.open(server.url).transaction((transaction) => transaction.run(INCREASE_A));
    const failed = expect(committing).rejects.toMatchObject(UNAVAILABLE);
    await administrator.awaitSessions('COMMIT', 'active');
    await administrator.endSessions();
    await failed;
    await administrator.query('DROP FUNCTION wait_for_end CASCADE');
    expect(await balances()).toEqual([100, 100]);
  });
});

describe('a lost connection', () => {
  let proxy: PostgresProxy;
  beforeEach(async () => {
    proxy = await PostgresProxy.start(server.url);
  });
  afterEach(() => proxy.stop());

  const increase = (transaction: Runner) => transaction.run(INCREASE_A);

  test.each([
    { fault: 'lose response', applied: 101 },
    { fault: 'lose request', applied: 100 },
  ] as const)('makes the outcome of COMMIT ambiguous: $fault', async ({ fault, applied }) => {
    const database = databases.open(proxy.url());
    proxy.plan('COMMIT', fault);
    await expect(database.transaction(increase)).rejects.toMatchObject(AMBIGUOUS);
    expect(await balances()).toEqual([applied, 100]);
  });

  test.each([
    { fault: 'lose response', applied: 101 },
    { fault: 'lose request', applied: 100 },
  ] as const)('makes the outcome of a statement ambiguous: $fault', async ({ fault, applied }) => {
    const database = databases.open(proxy.url());
    await session(database);
    proxy.plan('UPDATE account', fault);
    await expect(database.run(INCREASE_A)).rejects.toMatchObject(AMBIGUOUS);
    expect(await balances()).toEqual([applied, 100]);
    await database.run(INCREASE_A);
    expect(await balances()).toEqual([applied + 1, 100]);
  });

  test.each(['lose response', 'lose request'] as const)(
    'inside a transaction means that nothing was applied: %s',
    async (fault) => {
      const database = databases.open(proxy.url());
      proxy.plan('UPDATE account', fault);
      await expect(database.transaction(increase)).rejects.toMatchObject(UNAVAILABLE);
      await administrator.endSessions();
      expect(await balances()).toEqual([100, 100]);
    },
  );

  test('is replaced if it ended between two statements', async () => {
    const database = databases.open(server.url);
    await database.run(INCREASE_A);
    await administrator.endSessions();
    // If the driver has not noticed the end yet, the statement fails without effect, and the next one is sent on a new
    // connection.
    await database.run(INCREASE_A).catch((error: unknown) => {
      if (!(error instanceof RetryableError)) throw error;
      return database.run(INCREASE_A);
    });
    expect(await balances()).toEqual([102, 100]);
  });

  test('is replaced before its next use if a frozen function did not notice the loss', async () => {
    const clock = new SimulatedClock();
    const database = databases.open(proxy.url(), { clock });
    await database.run(INCREASE_A);
    proxy.silence();
    clock.advance(60_000);
    await database.run(INCREASE_A);
    expect(await balances()).toEqual([102, 100]);
    expect(proxy.opened).toBe(2);
  });

  test('is not assumed after hours without use: a working connection is reused', async () => {
    const clock = new SimulatedClock();
    const database = databases.open(proxy.url(), { clock });
    for (const silentMs of [0, 1_000, 3_600_000]) {
      clock.advance(silentMs);
      await database.run(INCREASE_A);
    }
    expect(proxy.opened).toBe(1);
    const [row] = await administrator.query(
      `SELECT query FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );
    expect(row).toEqual({ query: INCREASE_A.text });
  });
});

describe('a server', () => {
  const statement = sql('SELECT 1 AS one');

  test('causes a 503 with Retry-After while it has no free connection, and accepts a connection afterwards', async () => {
    await administrator.query("CREATE ROLE payonce_limited LOGIN PASSWORD 'p' CONNECTION LIMIT 1");
    const url = asUser(server.url, 'payonce_limited', 'p');
    const holder = databases.open(url);
    await holder.run(statement);
    const refused: unknown = await databases
      .open(url)
      .run(statement)
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(RetryableError);
    expect(faultAnswer(refused, 'req_1')).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
    await holder.close();
    await administrator.awaitNoSession('payonce_limited');
    expect(await databases.open(url).run(statement)).toEqual([{ one: 1 }]);
    await databases.close();
    await administrator.awaitNoSession('payonce_limited');
    await administrator.query('DROP ROLE payonce_limited');
  });

  test('is reported as unavailable while it does not run', async () => {
    const closed = createServer();
    const port = await listenNear(closed, 0);
    await new Promise((resolve) => closed.close(resolve));
    const url = server.url.replace(/:\d+\//, `:${port}/`);
    const refused: unknown = await databases
      .open(url)
      .run(statement)
      .catch((error: unknown) => error);
    expect(refused).toMatchObject(UNAVAILABLE);
    expect(faultAnswer(refused, 'req_1')).toMatchObject({ status: 503, headers: { 'retry-after': '2' } });
  });

  test('refuses a connection if it lacks the database', async () => {
    const url = server.url.replace(/\/\w+$/, '/missing');
    await expect(databases.open(url).run(statement)).rejects.toMatchObject(REFUSED);
  });

  test('that refuses the old password after a rotation is called again with the new one, without a new deployment', async () => {
    await administrator.query("CREATE ROLE payonce_rotated LOGIN PASSWORD 'old'");
    const target = parseServerUrl(asUser(server.url, 'payonce_rotated', 'old'));
    let reads = 0;
    const secret = { ...target };
    const database = databases.open(server.url, {
      credentials: {
        current: async () => ({ ...target }),
        renewed: async () => {
          reads += 1;
          return reads > 1 ? { ...secret, password: 'new' } : undefined;
        },
      },
      connections: 2,
    });
    await database.run(statement);
    await administrator.query("ALTER ROLE payonce_rotated PASSWORD 'new'");
    // An open session remains valid after the password change.
    await database.run(statement);
    await administrator.endSessions();
    await expect(database.run(statement)).rejects.toMatchObject(UNAVAILABLE);
    expect(await Promise.all([database.run(statement), database.run(statement)])).toEqual([[{ one: 1 }], [{ one: 1 }]]);
    await databases.close();
    await administrator.awaitNoSession('payonce_rotated');
    await administrator.query('DROP ROLE payonce_rotated');
  });
});

describe('TLS', () => {
  const certificate = selfMadeCertificate('localhost');
  const directory = mkdtempSync(join(tmpdir(), 'payonce-tls-'));
  const caFile = join(directory, 'ca.pem');
  let proxy: PostgresProxy;

  beforeAll(async () => {
    writeFileSync(caFile, certificate.cert);
    proxy = await PostgresProxy.start(server.url, certificate);
  });
  afterAll(async () => {
    await proxy.stop();
    rmSync(directory, { recursive: true });
  });

  test('accepts a server whose certificate is signed by the configured authority', async () => {
    const database = databases.open(proxy.url('localhost'), { tls: { caFile } });
    expect(await database.run(sql('SELECT 1 AS one'))).toEqual([{ one: 1 }]);
  });

  test.each([
    { reason: 'is signed by another authority', host: 'localhost', tls: {} },
    { reason: 'belongs to another host', host: '127.0.0.1', tls: { caFile } },
  ])('sends no password to a server whose certificate $reason', async ({ host, tls }) => {
    const failed = databases.open(proxy.url(host), { tls }).run(sql('SELECT 1'));
    await expect(failed).rejects.toMatchObject({ name: 'TerminalError', code: 'store_untrusted' });
  });

  test('sends no password to a server without TLS', async () => {
    const failed = databases.open(server.url, { tls: { caFile } }).run(sql('SELECT 1'));
    await expect(failed).rejects.toThrow(TerminalError);
    await expect(failed).rejects.toMatchObject({ code: 'store_untrusted' });
  });
});
