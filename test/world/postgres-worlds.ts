/**
 * Makes PostgreSQL the authority of the worlds of a test file. Each world has a database of its own, and composes its
 * stores as the functions do. At its first statement, a world empties an idle database and uses it, or creates a
 * database. After the test, the database is idle again.
 */
import { DeleteCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import { POSTGRES_AUTHORITY, REPLAY_CACHE_TABLE } from '../../lambdas/authority/contract.ts';
import {
  type AuthorityPlatform,
  openPostgresAuthority,
  sharedParts,
} from '../../lambdas/authority/postgres-authority.ts';
import type { OperationId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { Clock } from '../../lambdas/kernel/world.ts';
import { recordKey } from '../../lambdas/once/store/record-items.ts';
import type { OpenDatabase } from '../../lambdas/postgres/connection.ts';
import type { Database, Row, Runner, Statement } from '../../lambdas/postgres/database.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { QUIET_INSTRUMENTS } from '../support/quiet-instruments.ts';
import type { MemoryDynamoDb } from './memory-dynamodb.ts';
import { PostgresStores } from './postgres-stores.ts';
import { AuthorityItems, isOfAuthority, type PostgresChange } from './simulator/authority-items.ts';
import { SimulatedPostgres } from './simulator/postgres.ts';
import { emptyTables, type Stores, setAuthority } from './stores.ts';
import { REPLAY_CACHE, TABLES } from './tables.ts';

/** Databases that no world uses. They contain the rows of earlier tests. */
const idle: SimulatedPostgres[] = [];
let inTest: WorldDatabase[] | undefined;
/** Databases of worlds that were created outside a test. */
const outside: WorldDatabase[] = [];

const CHANGES: Statement = {
  name: 'world-changes',
  text: 'DELETE FROM simulator.change RETURNING id, of, before, after',
  values: [],
};

class WorldDatabase implements Database {
  /** The rows, as the items that DynamoDB would contain if it were the authority. */
  readonly rows: MemoryDynamoDb;
  readonly #items = new AuthorityItems();
  #opening: Promise<{ readonly postgres: SimulatedPostgres; readonly database: OpenDatabase }> | undefined;
  #hasEnded = false;
  /** Writes of the test itself. Later statements wait for them. */
  #written: Promise<unknown> = Promise.resolve();
  #noted: Promise<void> = Promise.resolve();

  constructor(clock: Clock) {
    this.rows = emptyTables(clock);
  }

  async run(statement: Statement): Promise<readonly Row[]> {
    await this.#written;
    return this.#run(statement);
  }

  async transaction<T>(work: (transaction: Runner) => Promise<T>): Promise<T> {
    await this.#written;
    const { database } = await this.#open();
    const result = await database.transaction(work);
    await this.#note(database);
    return result;
  }

  /** Writes rows for the test itself. Later statements wait for this write. */
  write(statement: Statement): void {
    this.#written = this.#written.then(() => this.#run(statement));
  }

  /** Ends the use of the database. Later statements fail, so that an abandoned process cannot affect another test. */
  async end(): Promise<void> {
    this.#hasEnded = true;
    if (this.#opening !== undefined) idle.push((await this.#opening).postgres);
  }

  async #run(statement: Statement): Promise<readonly Row[]> {
    const { database } = await this.#open();
    const rows = await database.run(statement);
    if (!statement.text.trimStart().startsWith('SELECT')) await this.#note(database);
    return rows;
  }

  #note(database: OpenDatabase): Promise<void> {
    const earlier = this.#noted;
    const note = async (): Promise<void> => {
      await earlier;
      const found = (await database.run(CHANGES)) as unknown as readonly (PostgresChange & { readonly id: number })[];
      const changes = found.toSorted((left, right) => left.id - right.id);
      this.rows.replicate(changes.flatMap((change) => this.#items.changesOf(change)));
    };
    this.#noted = note();
    return this.#noted;
  }

  async #open(): Promise<{ readonly postgres: SimulatedPostgres; readonly database: OpenDatabase }> {
    if (this.#hasEnded) throw new Error('the test of this database has ended');
    this.#opening ??= openEmpty();
    return this.#opening;
  }
}

async function openEmpty(): Promise<{ readonly postgres: SimulatedPostgres; readonly database: OpenDatabase }> {
  const postgres = idle.pop() ?? (await SimulatedPostgres.create());
  return { postgres, database: await postgres.empty() };
}

function createStores(clock: Clock, tables: MemoryDynamoDb): Stores {
  const database = new WorldDatabase(clock);
  (inTest ?? outside).push(database);
  tables.listen((changes) => {
    const wrong = changes.find(isOfAuthority);
    if (wrong !== undefined) throw new Error(`a row belongs in PostgreSQL: ${JSON.stringify(wrong)}`);
  });
  const platform: AuthorityPlatform = {
    variables: {
      [POSTGRES_AUTHORITY]: JSON.stringify({ secretId: 'database' }),
      [REPLAY_CACHE_TABLE]: REPLAY_CACHE,
    },
    clock,
    entropy: countingEntropy(),
    digest: systemDigest,
    documents: tables.client,
    instruments: QUIET_INSTRUMENTS,
    secretsManager: () => Promise.reject(new Error('the database needs no secret')),
    openDatabase: () => database,
  };
  const postgres = openPostgresAuthority(platform, TABLES);
  const unreadable = (error: unknown): never => {
    throw error;
  };
  const parts = {
    store: postgres.store,
    effects: postgres.approvals,
    orphans: postgres.effects(),
    orders: postgres.orders(),
    work: postgres.work(unreadable),
    holds: postgres.holds,
    postgres,
    newReplays: () => sharedParts(platform, TABLES).replays,
    rows: database.rows,
    deleteRecord: (operationId: OperationId) => {
      database.write({
        name: 'world-delete-record',
        text: 'DELETE FROM idempotency WHERE operation_id = $1',
        values: [operationId],
      });
      // Need not be awaited, because the in-memory call takes effect synchronously.
      void tables.client.send(new DeleteCommand({ TableName: REPLAY_CACHE, Key: recordKey(operationId) }));
    },
  };
  return new PostgresStores(parts, clock, tables);
}

/**
 * Makes PostgreSQL the authority of the worlds that the tests of the current block create, and of the worlds that
 * are created while the files of the block are loaded.
 *
 * @returns a function that makes DynamoDB the authority again until the tests begin; call it when the files are loaded
 */
export function createWorldsOnPostgres(): () => void {
  setAuthority(createStores);
  beforeAll(() => setAuthority(createStores));
  beforeEach(() => {
    inTest = [];
  });
  afterEach(async () => {
    for (const database of inTest?.splice(0) ?? []) await database.end();
    inTest = undefined;
  });
  afterAll(async () => {
    setAuthority();
    for (const database of outside.splice(0)) await database.end();
    await Promise.all(idle.splice(0).map((postgres) => postgres.close()));
  });
  return setAuthority;
}
