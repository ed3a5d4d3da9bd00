import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import { defined } from '../kernel/defined.ts';
import { isFault } from '../kernel/faults.ts';
import type { Clock } from '../kernel/world.ts';
import { type Database, type Row, type Runner, type Statement, TRANSACTION_LIMITS } from './database.ts';
import { escapeIdentifier, Pool, type PoolClient, TypeOverrides, types } from './driver.ts';
import { DSQL_CONNECTION_MS, type Engine } from './dsql.ts';
import { faultOf, faultOfConnecting, isLoginRefused, isUsableAfter, type Progress } from './faults.ts';
import { readIdentity } from './identity.ts';
import type { Credentials, Server } from './server.ts';

/**
 * The schema of a deployment's tables. With its own schema, a deployment can share a database with other applications.
 */
export const SCHEMA = 'payonce';

/** Time limits of connecting and of a statement, in milliseconds. Each is shorter than the time limit of a request. */
const LIMITS = { connectMs: 3_000, statementMs: 8_000 } as const;
/** Time that the client waits for a response after the server's statement timeout, in milliseconds. */
const RESPONSE_GRACE_MS = 2_000;
/**
 * Idle time after which a connection is checked before its use, in milliseconds. A frozen function does not notice that
 * a connection has ended.
 */
const CHECK_AFTER_MS = 10_000;
const CHECK_TIMEOUT_MS = 2_000;
const KEEP_ALIVE_AFTER_MS = 10_000;
/**
 * Keep-alive settings, in seconds. With them, the server detects a lost client within two minutes, and frees the
 * client's connection.
 */
const SERVER_KEEP_ALIVES = { tcp_keepalives_idle: 60, tcp_keepalives_interval: 15, tcp_keepalives_count: 4 };

export interface ConnectionOptions {
  readonly credentials: Credentials;
  readonly clock: Pick<Clock, 'nowMs'>;
  /**
   * If present, the connection uses TLS, and verifies the server's certificate and name against the CA certificates of
   * Node and of `caFile`. The Lambda runtime has the CA certificates of RDS in /var/runtime/ca-cert.pem (AWS Lambda
   * developer guide, "Building Lambda functions with Node.js", CA certificate loading).
   * @default no TLS, for a server on the same machine
   */
  readonly tls?: { readonly caFile?: string | undefined } | undefined;
  /**
   * A function handles one request at a time, and many functions share the server's limit.
   * @default 1
   */
  readonly connections?: number;
  /** @default postgres */
  readonly engine?: Engine;
  /**
   * Isolation level of transactions. Not set on Aurora DSQL, which has only repeatable read.
   * @default read committed
   */
  readonly isolation?: 'read committed' | 'repeatable read';
  /**
   * Time limit of a statement in milliseconds; 0 means none.
   * @default 8 seconds
   */
  readonly statementMs?: number;
  /** @default the schema of a deployment */
  readonly schema?: string;
  /**
   * Called before the first use of a new connection, with the identity of the database that the connection has reached.
   * Throws a fault to refuse this database.
   * @default any database is accepted
   */
  readonly accept?: (identity: number | undefined) => Promise<void>;
}

export interface OpenDatabase extends Database {
  close(): Promise<void>;
}

/** Returns a database that connects at its first use. */
export function openDatabase(options: ConnectionOptions): OpenDatabase {
  return new PooledDatabase(options);
}

/**
 * Parses an integer column as a number, because all of Payonce's integers are safe: amounts in minor units, versions,
 * counts.
 * @throws RangeError if the integer is not safe
 */
function safeInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError('the database returned an integer beyond 2^53');
  return value;
}

const PARSERS = new TypeOverrides();
PARSERS.setTypeParser(types.builtins.INT8, safeInteger);

const SET_PARAMETERS = 'SELECT set_config(key, value, false) FROM json_each_text($1::json)';

const BEGIN: Statement = { name: '', text: 'BEGIN', values: [] };
const COMMIT: Statement = { name: '', text: 'COMMIT', values: [] };
const ROLLBACK: Statement = { name: '', text: 'ROLLBACK', values: [] };

class PooledDatabase implements OpenDatabase {
  readonly #options: ConnectionOptions;
  #pool: Promise<Pool> | undefined;
  /** Connections that ended, or whose state is unknown. */
  readonly #lost = new WeakSet<PoolClient>();
  /** Time at which the last use of a connection ended, in Unix milliseconds. */
  readonly #usedAtMs = new WeakMap<PoolClient, number>();
  readonly #openedAtMs = new WeakMap<PoolClient, number>();
  readonly #closing: Promise<void>[] = [];

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  async run(statement: Statement): Promise<readonly Row[]> {
    return this.#withClient((client) => this.#send(client, statement, 'committing'));
  }

  async transaction<T>(work: (transaction: Runner) => Promise<T>): Promise<T> {
    return this.#withClient(async (client) => {
      await this.#send(client, BEGIN, 'uncommitted');
      const transaction = new Transaction((statement) => this.#send(client, statement, 'uncommitted'));
      try {
        const result = await work(transaction);
        // After a failed statement, the server would respond to COMMIT with a rollback and no error.
        if (transaction.failure !== undefined) throw transaction.failure;
        await this.#send(client, COMMIT, 'committing');
        return result;
      } catch (error) {
        if (!this.#lost.has(client)) await this.#send(client, ROLLBACK, 'uncommitted').catch(() => undefined);
        throw error;
      } finally {
        transaction.failure ??= new Error('the transaction has ended');
      }
    });
  }

  async close(): Promise<void> {
    const opening = this.#pool;
    this.#pool = undefined;
    const pool = await opening?.catch(() => undefined);
    if (pool !== undefined) this.#closing.push(pool.end());
    await Promise.all(this.#closing);
  }

  async #withClient<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#checkOut();
    try {
      return await work(client);
    } finally {
      this.#usedAtMs.set(client, this.#options.clock.nowMs());
      client.release(this.#lost.has(client));
    }
  }

  /** Returns a connection that responded recently, and that the server will not end soon because of its age. */
  async #checkOut(): Promise<PoolClient> {
    for (;;) {
      const client = await this.#connect();
      const nowMs = this.#options.clock.nowMs();
      const usedAtMs = this.#usedAtMs.get(client);
      if (usedAtMs === undefined) {
        this.#openedAtMs.set(client, nowMs);
        await this.#prepare(client);
        return client;
      }
      const silentMs = Math.abs(nowMs - usedAtMs);
      if (!this.#isOld(client, nowMs) && (silentMs < CHECK_AFTER_MS || (await this.#responds(client)))) return client;
      client.release(true);
    }
  }

  #isOld(client: PoolClient, nowMs: number): boolean {
    if (this.#options.engine !== 'dsql') return false;
    return Math.abs(nowMs - (this.#openedAtMs.get(client) ?? nowMs)) >= DSQL_CONNECTION_MS;
  }

  /**
   * Applies the settings of the session, which RDS Proxy refuses as startup parameters, and checks that the connection
   * has reached the expected database. On Aurora DSQL, the isolation level and the time limits cannot be set.
   */
  async #prepare(client: PoolClient): Promise<void> {
    const { accept, engine, schema = SCHEMA } = this.#options;
    try {
      if (engine === 'dsql') await client.query(`SET search_path = ${escapeIdentifier(schema)}`);
      else await client.query(SET_PARAMETERS, [JSON.stringify(parametersOf(this.#options))]);
      if (accept === undefined) return;
      await accept(await readIdentity({ run: (statement) => this.#send(client, statement, 'uncommitted') }));
    } catch (error) {
      client.release(true);
      throw isFault(error) ? error : faultOfConnecting(error, engine);
    }
  }

  async #responds(client: PoolClient): Promise<boolean> {
    const check = { text: 'SELECT 1', query_timeout: CHECK_TIMEOUT_MS };
    return client.query(check).then(
      () => true,
      () => false,
    );
  }

  async #connect(): Promise<PoolClient> {
    const pool = await this.#currentPool();
    try {
      return await pool.connect();
    } catch (error) {
      if (!isLoginRefused(error) || !(await this.#renew(pool))) throw faultOfConnecting(error, this.#options.engine);
      return this.#connect();
    }
  }

  async #currentPool(): Promise<Pool> {
    const opening = (this.#pool ??= this.#openPool(this.#options.credentials.current()));
    opening.catch(() => {
      if (this.#pool === opening) this.#pool = undefined;
    });
    return opening;
  }

  /** Replaces a pool whose credentials the server refused. Returns whether different credentials are in use now. */
  async #renew(refused: Pool): Promise<boolean> {
    const server = await this.#options.credentials.renewed();
    if ((await this.#currentPool()) !== refused) return true;
    if (server === undefined) return false;
    this.#pool = this.#openPool(Promise.resolve(server));
    this.#closing.push(refused.end());
    return true;
  }

  async #openPool(reading: Promise<Server>): Promise<Pool> {
    const { tls, connections = 1, statementMs = LIMITS.statementMs } = this.#options;
    const server = await reading;
    const pool = new Pool({
      ...server,
      application_name: SCHEMA,
      ...(statementMs === 0 ? {} : { query_timeout: statementMs + RESPONSE_GRACE_MS }),
      ssl: tls === undefined ? false : { ca: certificates(tls.caFile), rejectUnauthorized: true },
      types: PARSERS,
      max: connections,
      connectionTimeoutMillis: LIMITS.connectMs,
      // No idle timeout, because timers do not run in a frozen function. Instead, the server ends lost connections.
      idleTimeoutMillis: 0,
      allowExitOnIdle: true,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    });
    // Without these listeners, a lost connection would end the process. With them, only its next use fails.
    pool.on('error', () => undefined);
    pool.on('connect', (client) => {
      const lose = (): unknown => this.#lost.add(client);
      client.on('error', lose);
      client.on('end', lose);
    });
    return pool;
  }

  async #send(
    client: PoolClient,
    { name, text, values, timeoutMs }: Statement,
    progress: Progress,
  ): Promise<readonly Row[]> {
    // The driver sends nothing on a connection that has ended, so nothing can have been committed.
    const reached = this.#lost.has(client) ? 'uncommitted' : progress;
    try {
      const options = { ...(name === '' ? {} : { name }), ...defined({ query_timeout: timeoutMs }) };
      const result = await client.query<Row>({ text, values: [...values], ...options });
      return result.rows;
    } catch (error) {
      const fault = faultOf(error, reached, this.#options.engine);
      if (!isUsableAfter(fault)) this.#lost.add(client);
      throw fault;
    }
  }
}

class Transaction implements Runner {
  /** The reason why no further statement may run; undefined while statements may run. */
  failure: Error | undefined;
  readonly #send: (statement: Statement) => Promise<readonly Row[]>;

  constructor(send: (statement: Statement) => Promise<readonly Row[]>) {
    this.#send = send;
  }

  async run(statement: Statement): Promise<readonly Row[]> {
    if (this.failure !== undefined) throw this.failure;
    try {
      return await this.#send(statement);
    } catch (error) {
      if (error instanceof Error) this.failure ??= error;
      throw error;
    }
  }
}

function parametersOf(options: ConnectionOptions) {
  const { schema = SCHEMA, isolation = 'read committed', statementMs = LIMITS.statementMs } = options;
  return {
    search_path: schema,
    // The time format that the driver parses.
    datestyle: 'ISO',
    default_transaction_isolation: isolation,
    lock_timeout: TRANSACTION_LIMITS.lockMs,
    statement_timeout: statementMs,
    idle_in_transaction_session_timeout: TRANSACTION_LIMITS.idleMs,
    ...SERVER_KEEP_ALIVES,
  };
}

/** Includes the CA certificates of Node, which RDS Proxy needs. */
function certificates(caFile: string | undefined): string[] {
  return [...rootCertificates, ...(caFile === undefined ? [] : [readFileSync(caFile, 'utf8')])];
}
