import * as z from 'zod';
import type { Answer } from '../../kernel/answer.ts';
import { isFault, RetryableError } from '../../kernel/faults.ts';
import { type OperationId, ownerToken } from '../../kernel/ids.ts';
import type { Pacing } from '../../kernel/platform/attempts.ts';
import { readRows, repeated, type StatementTools, writeRows } from '../../postgres/attempts.ts';
import { SERVICE_SCHEMA } from '../../postgres/contract.ts';
import { type Row, TRANSACTION_LIMITS } from '../../postgres/database.ts';
import type { Pool, PoolClient } from '../../postgres/driver.ts';
import { faultOf, faultOfConnecting, isUsableAfter, type Progress, sqlState } from '../../postgres/faults.ts';
import { byteText, timestamp } from '../../postgres/values.ts';
import {
  type OwnRecord,
  type OwnTransaction,
  type OwnTransactions,
  StillInProgress,
  type StoredRequest,
} from '../use/own-transactions.ts';

export { SERVICE_SCHEMA } from '../../postgres/contract.ts';
export type { Pool, PoolClient } from '../../postgres/driver.ts';

const LOCK_NOT_AVAILABLE = '55P03';
/** Matches statements that would end the transaction too early or begin another one, also after leading comments. */
const TRANSACTION_CONTROL =
  /^(?:[\s;]|--[^\n]*\n|\/\*(?:[^*]|\*(?!\/))*\*\/)*(?:BEGIN|START\s+TRANSACTION|COMMIT|END|ABORT|ROLLBACK(?!\s+TO\b)|PREPARE\s+TRANSACTION)\b/i;

interface OwnDatabaseOptions {
  readonly schema?: string | undefined;
  /** Time for which a statement waits for a lock, in milliseconds. */
  readonly lockMs?: number | undefined;
}

/** The columns are read as text, because the application may have replaced the driver's parsers for other types. */
const storedRequest = z.object({
  owner: z.string().transform(ownerToken),
  fingerprint_version: z.coerce.number(),
  request_hash: z.string().transform((text) => new Uint8Array(Buffer.from(text, 'hex'))),
  // If the handler itself commits the transaction, the record has no response.
  response: z.string('the handler of this idempotency key committed its own transaction, so its response is unknown'),
  expires_at: z.coerce.number(),
});

/** Returns tools that run each statement on a team's pool, as a transaction of its own. */
export function statementsOf(pool: Pool, pacing: Pacing): StatementTools {
  return {
    pacing,
    database: {
      run: async ({ text, values }) => {
        try {
          return (await pool.query<Row>(text, [...values])).rows;
        } catch (error) {
          throw faultOf(error, 'committing');
        }
      },
    },
  };
}

/** Stores records in one of the team's PostgreSQL databases, in one transaction with the team's own rows. */
export class OwnDatabase implements OwnTransactions<PoolClient> {
  readonly #pool: Pool;
  readonly #pacing: Pacing;
  readonly #statements: StatementTools;
  readonly #schema: string;
  readonly #table: string;
  readonly #begin: string;

  constructor(pool: Pool, { schema = SERVICE_SCHEMA, lockMs }: OwnDatabaseOptions, pacing: Pacing) {
    this.#pool = pool;
    this.#pacing = pacing;
    this.#statements = statementsOf(pool, pacing);
    this.#schema = schema;
    this.#table = `${schema}.record`;
    this.#begin = `BEGIN; SET LOCAL lock_timeout = ${lockMs ?? TRANSACTION_LIMITS.lockMs};
      SET LOCAL idle_in_transaction_session_timeout = ${TRANSACTION_LIMITS.idleMs}`;
  }

  async run<T>(work: (transaction: OwnTransaction<PoolClient>) => Promise<T>): Promise<T> {
    return repeated(this.#pacing, () => this.#transaction(work));
  }

  async readRequest(operationId: OperationId): Promise<StoredRequest | undefined> {
    const [row] = await readRows(this.#statements, {
      name: '',
      text: `SELECT owner, fingerprint_version::text, encode(request_hash, 'hex') AS request_hash, response::text,
        extract(epoch FROM expires_at)::bigint::text AS expires_at FROM ${this.#table} WHERE operation_id = $1`,
      values: [operationId],
    });
    if (row === undefined) return undefined;
    const { owner, fingerprint_version: version, request_hash: sha256, ...stored } = storedRequest.parse(row);
    const answer = JSON.parse(stored.response) as Answer;
    return { owner, fingerprint: { version, sha256 }, answer, expiresAtSeconds: stored.expires_at };
  }

  async deleteExpired(beforeMs: number, atMost: number): Promise<number> {
    const values = [timestamp(beforeMs), atMost];
    const run = async (table: string, key: string): Promise<number> => {
      const text = `DELETE FROM ${this.#schema}.${table} WHERE (${key}) IN (SELECT ${key} FROM ${this.#schema}.${table}
        WHERE expires_at <= $1 ORDER BY expires_at, ${key} LIMIT $2) RETURNING 1`;
      return (await writeRows(this.#statements, { name: '', text, values })).length;
    };
    return (await run('record', 'operation_id')) + (await run('sending', 'vendor, key'));
  }

  async #transaction<T>(work: (transaction: OwnTransaction<PoolClient>) => Promise<T>): Promise<T> {
    const connection = new Connection(await this.#connect());
    try {
      await connection.send(this.#begin);
      const working = work({
        tx: connection.handedOut,
        claim: (record) => claim(connection, this.#table, record),
        complete: (record, answer) => complete(connection, this.#table, record, answer),
      });
      // A handler can hang, for example while it waits for another connection of the same pool. If the connection is
      // lost, the transaction ends without waiting for the handler.
      const result = await Promise.race([working, connection.lost]).finally(() => connection.revoke());
      // If the handler ignored a failed statement, the server rolls back at COMMIT, and reports this without an error.
      if ((await connection.send('COMMIT', [], 'committing')).command !== 'COMMIT')
        throw new Error('a statement of the handler failed, so nothing was committed');
      return result;
    } catch (error) {
      throw await connection.rolledBack(error);
    } finally {
      connection.end();
    }
  }

  async #connect(): Promise<PoolClient> {
    try {
      return await this.#pool.connect();
    } catch (error) {
      throw faultOfConnecting(error);
    }
  }
}

async function claim(connection: Connection, table: string, record: OwnRecord): Promise<boolean> {
  const { operationId, scope, key, fingerprint, owner, recordedAtMs, expiresAtSeconds } = record;
  const columns = 'operation_id, scope, key, fingerprint_version, request_hash, owner, recorded_at, expires_at';
  const text = `INSERT INTO ${table} (${columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT (operation_id) DO NOTHING RETURNING operation_id`;
  const values = [
    operationId,
    scope,
    key,
    fingerprint?.version ?? null,
    fingerprint === undefined ? null : byteText(fingerprint.sha256),
    owner,
    timestamp(recordedAtMs),
    expiresAtSeconds === undefined ? null : timestamp(expiresAtSeconds * 1000),
  ];
  try {
    return (await connection.send(text, values)).rows.length > 0;
  } catch (error) {
    throw sqlState(error) === LOCK_NOT_AVAILABLE ? new StillInProgress() : error;
  }
}

async function complete(
  connection: Connection,
  table: string,
  { operationId, owner }: OwnRecord,
  answer: Answer,
): Promise<void> {
  const text = `UPDATE ${table} SET response = $3 WHERE operation_id = $1 AND owner = $2 RETURNING operation_id`;
  const { rows } = await connection.send(text, [operationId, owner, JSON.stringify(answer)]);
  if (rows.length === 0) throw new Error('the handler rolled back its own transaction');
}

class Connection {
  /** The connection that the handler gets. It only runs statements, and only until `revoke` is called. */
  readonly handedOut: PoolClient;
  readonly #client: PoolClient;
  #isRevoked = false;
  #isLost = false;
  readonly #loss = Promise.withResolvers<never>();
  readonly #lose = (error: unknown): void => {
    this.#isLost = true;
    this.#loss.reject(error);
  };

  constructor(client: PoolClient) {
    this.#client = client;
    // Without a listener for `error`, a lost connection would crash the process.
    client.on('error', this.#lose);
    this.#loss.promise.catch(() => undefined);
    this.handedOut = new Proxy(client, { get: (_client, name) => this.#memberOf(name) });
  }

  get lost(): Promise<never> {
    return this.#loss.promise;
  }

  /**
   * A handler can continue after it has failed, for example in another part of a `Promise.all`. Its statement after
   * `ROLLBACK` would be committed in a transaction of its own, and the next attempt would repeat it.
   */
  revoke(): void {
    this.#isRevoked = true;
  }

  async send(text: string, values: readonly unknown[] = [], progress: Progress = 'uncommitted') {
    // The driver sends nothing on a connection that has ended, so nothing can have been committed.
    const reached = this.#isLost ? 'uncommitted' : progress;
    try {
      return await this.#client.query<Row>(text, [...values]);
    } catch (error) {
      throw faultOf(error, reached);
    }
  }

  /**
   * @returns the error to throw: a RetryableError if the database ended the transaction and a retry can succeed,
   * otherwise `reason`
   */
  async rolledBack(reason: unknown): Promise<unknown> {
    const thrown = this.#faultOrError(reason);
    if (isFault(thrown) && !isUsableAfter(thrown)) this.#isLost = true;
    if (!this.#isLost) await this.#client.query('ROLLBACK').catch(this.#lose);
    return thrown;
  }

  /** The pool closes the connection if it was lost. */
  end(): void {
    this.#client.off('error', this.#lose);
    this.#client.release(this.#isLost);
  }

  #faultOrError(error: unknown): unknown {
    if (isFault(error) || (!this.#isLost && sqlState(error) === undefined)) return error;
    const fault = faultOf(error, 'uncommitted');
    return fault instanceof RetryableError ? fault : error;
  }

  #memberOf(name: string | symbol): unknown {
    const member: unknown = Reflect.get(this.#client, name, this.#client);
    if (typeof member !== 'function') return member;
    return (...given: readonly unknown[]): unknown => {
      if (this.#isRevoked) throw new Error('The transaction has ended, because the handler has returned or thrown.');
      if (name === 'release' || TRANSACTION_CONTROL.test(textOf(given[0])))
        throw new Error('The transaction is ended when the handler returns or throws. Inside it, use SAVEPOINT.');
      return Reflect.apply(member, this.#client, given);
    };
  }
}

const query = z.object({ text: z.string() });

function textOf(given: unknown): string {
  return typeof given === 'string' ? given : (query.safeParse(given).data?.text ?? '');
}
