import { type PostgresStores, postgresStores } from '../../../lambdas/authority/postgres-stores.ts';
import { LedgerRow, RegistryRow } from '../../../lambdas/kernel/contract/rows.ts';
import { AmbiguousError, RetryableError } from '../../../lambdas/kernel/faults.ts';
import { hex } from '../../../lambdas/kernel/hash-chain.ts';
import { systemDigest } from '../../../lambdas/kernel/platform/platform.ts';
import { ORDER_CHAIN } from '../../../lambdas/orders/store/postgres-orders.ts';
import type { NewDetails } from '../../../lambdas/payments/store/items.ts';
import { LedgerCarrier, PAYMENT_CHAIN } from '../../../lambdas/payments/store/postgres-carrier.ts';
import { newDetailsOf, newDetailsOfCopy } from '../../../lambdas/payments/store/postgres-rows.ts';
import type { Database, Row, Runner, Statement } from '../../../lambdas/postgres/database.ts';
import { DatabaseFault } from '../../../lambdas/postgres/faults.ts';
import { valuesOf } from '../../../lambdas/postgres/values.ts';
import { sql } from '../../postgres/postgres-fixture.ts';
import { createDatabase, openTestDatabase, type StoreDatabase } from '../../postgres/store-database.ts';
import { countingEntropy } from '../../support/counting-entropy.ts';
import { MemoryDynamoDb, type RowChange } from '../memory-dynamodb.ts';
import { TABLE_SHAPES, TABLES } from '../tables.ts';
import { AuthorityItems, isOfAuthority, type PostgresChange, partitionOf } from './authority-items.ts';
import type { Violation } from './contract.ts';
import type { Process, ServiceBehavior, Simulation } from './simulation.ts';

/** Number of reads of the empty outbox that take time and can fail, per process. */
const VOID_READS = 4;

const retryable = (code: string) => (): Error => new RetryableError(code, 'injected');
const SERVER: ServiceBehavior = {
  throttle: retryable(DatabaseFault.unavailable),
  conflict: retryable(DatabaseFault.conflict),
  ambiguous: () => new AmbiguousError(DatabaseFault.ambiguous, 'injected loss of the response to COMMIT'),
  lasts: [2, 20],
  timeoutMs: 10_000,
};

/** Triggers that record the changes of all rows, so that the simulator can read the changes of each statement. */
const NOTE = [
  'CREATE SCHEMA simulator',
  'CREATE TABLE simulator.change (id bigserial, of text, before json, after json)',
  `CREATE FUNCTION simulator.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO simulator.change (of, before, after) VALUES (TG_TABLE_NAME,
      CASE WHEN TG_OP = 'INSERT' THEN NULL ELSE row_to_json(OLD) END,
      CASE WHEN TG_OP = 'DELETE' THEN NULL ELSE row_to_json(NEW) END);
    RETURN NULL; END $$`,
  'GRANT USAGE ON SCHEMA simulator TO PUBLIC',
  'GRANT SELECT, INSERT, DELETE ON simulator.change TO PUBLIC',
  'GRANT USAGE ON SEQUENCE simulator.change_id_seq TO PUBLIC',
];
const CHANGES: Statement = {
  name: 'simulator-changes',
  text: 'DELETE FROM simulator.change RETURNING id, of, before, after',
  values: [],
};

/** Reads the id of the payment or order whose transitions the current transaction has written. */
const WRITTEN_CHAIN: Statement = {
  name: 'simulator-written',
  text: `SELECT after->>'chain_id' AS id FROM simulator.change WHERE of = 'transition' LIMIT 1`,
  values: [],
};

/** Error that rolls a transaction back. */
class Lost extends Error {}

const WRONG_POSTINGS = `WITH expected AS (
  SELECT chain_id, sequence, posting->>'account' AS account, posting->>'direction' AS direction,
    (posting->>'amountMinor')::bigint AS amount_minor, posting->>'currency' AS currency
  FROM transition, json_array_elements(coalesce(body->'postings', '[]')) AS posting
), written AS (
  SELECT chain_id, sequence, account, direction, amount_minor, currency FROM posting
)
SELECT DISTINCT chain_id, sequence FROM (
  (SELECT * FROM expected EXCEPT ALL SELECT * FROM written)
  UNION ALL (SELECT * FROM written EXCEPT ALL SELECT * FROM expected)
) AS wrong`;

/** The reason for an approval belongs to no transition and has no copy. */
const DETAILS = 'SELECT chain_id, part, salt, details, email_hash FROM details WHERE sequence > 0';

export class SimulatedPostgres {
  readonly #database: StoreDatabase;
  readonly #reset: Statement;

  private constructor(database: StoreDatabase, tables: readonly string[]) {
    this.#database = database;
    this.#reset = sql(`TRUNCATE ${[...tables, 'simulator.change'].join(', ')}`);
  }

  static async create(): Promise<SimulatedPostgres> {
    const database = openTestDatabase(await createDatabase());
    for (const text of NOTE) await database.owner.run(sql(text));
    const found = await database.run(
      sql(`SELECT tablename FROM pg_tables WHERE schemaname = 'payonce' AND tablename <> 'schema_version'`),
    );
    const tables = found.map(({ tablename }) => String(tablename));
    for (const table of tables) {
      await database.owner.run(
        sql(`CREATE TRIGGER note AFTER INSERT OR UPDATE OR DELETE ON ${table}
          FOR EACH ROW EXECUTE FUNCTION simulator.note()`),
      );
    }
    return new SimulatedPostgres(database, tables);
  }

  async empty(): Promise<StoreDatabase> {
    await this.#database.owner.run(this.#reset);
    return this.#database;
  }

  async wrongRows(copies: MemoryDynamoDb): Promise<readonly Violation[]> {
    return [...(await this.#wrongPostings()), ...(await this.#wrongDetails(copies))];
  }

  async #wrongPostings(): Promise<readonly Violation[]> {
    const rows = await this.#database.run(sql(WRONG_POSTINGS));
    return rows.map(({ chain_id: about, sequence }) => ({
      oracle: 'the posting table has the postings of the transitions',
      what: `the posting rows of transition ${String(sequence)} differ from its postings`,
      about: String(about),
    }));
  }

  async #wrongDetails(tables: MemoryDynamoDb): Promise<readonly Violation[]> {
    const rows = await this.#database.run(sql(DETAILS));
    const copies = tables.items(TABLES.registry).filter((item) => partitionOf(item).startsWith(RegistryRow.details));
    const own = new Set(rows.map((row) => textOf(String(row['chain_id']), newDetailsOf(valuesOf(row)))));
    const copied = new Set(copies.map((item) => textOf(partitionOf(item).split('#')[1] ?? '', newDetailsOfCopy(item))));
    const wrong = [...own, ...copied].filter((text) => !own.has(text) || !copied.has(text));
    return wrong.map((about) => ({
      oracle: 'copies of personal data are those of the authority',
      what: own.has(about) ? 'personal data has no copy' : 'a copy of personal data differs, or was not erased',
      about,
    }));
  }

  close(): Promise<void> {
    return this.#database.close();
  }
}

function textOf(chainId: string, { part, salt, details, emailHash }: NewDetails): string {
  return systemDigest.canonicalJson({ chainId, part, salt: hex(salt), details, emailHash: emailHash ?? null });
}

/**
 * Tables that the oracles read if PostgreSQL is the authority: the PostgreSQL rows as items, and the DynamoDB rows
 * except the copies. The archive is written from the copies, so a missing or different copy of a transition shows as a
 * difference between the Ledger and the archive. Copies of personal data are compared once the system is quiet.
 */
export class AuthorityBooks {
  /** Items of both databases. */
  readonly seen: MemoryDynamoDb;
  /** Number of rows that are not copied to DynamoDB yet. */
  #waiting = 0;
  /** Called after a write of a row that must be copied. */
  onWaiting: () => void = () => {};
  readonly #voidReads = new WeakMap<Process, number>();
  #loss: { left: number; readonly isCopied: boolean; readonly lost: () => void } | undefined;
  readonly #simulation: Simulation;
  readonly #copies: MemoryDynamoDb;
  readonly #database: Database;
  readonly #items = new AuthorityItems();

  constructor(simulation: Simulation, database: Database, copies: MemoryDynamoDb) {
    this.#database = {
      run: (given) => simulation.outside(database.run(given)),
      transaction: (work) => simulation.outside(database.transaction(work)),
    };
    this.#simulation = simulation;
    this.#copies = copies;
    this.seen = new MemoryDynamoDb({ tables: TABLE_SHAPES, nowMs: () => simulation.nowMs });
    copies.listen((changes) => {
      const wrong = changes.find(isOfAuthority);
      if (wrong !== undefined) simulation.fail(new Error(`a row belongs in PostgreSQL: ${JSON.stringify(wrong)}`));
      this.seen.replicate(changes.filter((change) => !isCopy(change)));
    });
  }

  databaseOf(process: () => Process): Database {
    return this.#databaseOf(process, (given) => (this.#loss === undefined ? this.#run(given) : this.#runOrLose(given)));
  }

  /** Planned losses do not affect the statements of an operator's command. */
  operatorDatabase(process: Process): Database {
    return this.#databaseOf(
      () => process,
      (given) => this.#run(given),
    );
  }

  #databaseOf(process: () => Process, run: (given: Statement) => Promise<readonly Row[]>): Database {
    return {
      run: (given) =>
        this.#isVoid(given, process())
          ? Promise.resolve([])
          : process().call(`postgres ${given.name}`, SERVER, () => run(given)),
      // Not supported: in a transaction of several statements, a fault would have to be possible before each statement.
      transaction: () => Promise.reject(new Error('production code writes with single statements')),
    };
  }

  /**
   * The restored database does not contain the lost write.
   *
   * @param nth position of that write among the upcoming writes; 1 is the next one
   *
   * @param isCopied whether the transitions were copied before the loss
   *
   * @param lost called after the restore
   */
  loseWithin(nth: number, isCopied: boolean, lost: () => void): void {
    this.#loss = { left: nth, isCopied, lost };
  }

  keep(): void {
    this.#loss = undefined;
  }

  operatorIn(process: Process): PostgresStores {
    return postgresStores({
      database: this.operatorDatabase(process),
      pacing: { clock: process.clock, entropy: countingEntropy() },
      client: this.#copies.client,
      tables: TABLES,
      observer: { stopped: () => {}, failed: () => {}, observed: () => {} },
    });
  }

  /** Returns true if a process has read the empty outbox so often that a further read takes no time. */
  #isVoid({ name }: Statement, reader: Process): boolean {
    if (name !== 'outbox-chains' || this.#waiting > 0) return false;
    const count = (this.#voidReads.get(reader) ?? 0) + 1;
    this.#voidReads.set(reader, count);
    return count > VOID_READS;
  }

  async #run(given: Statement): Promise<readonly Row[]> {
    const rows = await this.#database.run(given);
    if (!given.text.trimStart().startsWith('SELECT')) await this.#note();
    return rows;
  }

  /**
   * Runs a statement. If the database is to be lost with this write, rolls the write back. If `isCopied`, first copies
   * the written chain to the DynamoDB tables.
   */
  async #runOrLose(given: Statement): Promise<readonly Row[]> {
    const loss = this.#loss;
    const running = this.#database.transaction(async (transaction) => {
      const rows = await transaction.run(given);
      const [written] = await transaction.run(WRITTEN_CHAIN);
      if (loss === undefined || written === undefined) return rows;
      loss.left -= 1;
      if (loss.left > 0) return rows;
      if (loss.isCopied) await this.#carrierIn(transaction).carry(String(written['id']));
      throw new Lost();
    });
    const rows = await running.catch((error: unknown) => {
      if (error instanceof Lost) return undefined;
      throw error;
    });
    if (rows !== undefined) await this.#note();
    else {
      this.#loss = undefined;
      loss?.lost();
    }
    return rows ?? [];
  }

  #carrierIn(transaction: Runner): LedgerCarrier {
    const database = { run: transaction.run.bind(transaction), transaction: () => Promise.reject(new Error()) };
    return new LedgerCarrier({
      database,
      pacing: {
        clock: { nowMs: () => this.#simulation.nowMs, sleep: async () => undefined },
        entropy: countingEntropy(),
      },
      client: this.#copies.client,
      tables: TABLES,
      chains: [PAYMENT_CHAIN, ORDER_CHAIN],
      observer: { stopped: () => undefined, failed: () => undefined },
    });
  }

  async #note(): Promise<void> {
    const found = (await this.#database.run(CHANGES)) as unknown as readonly (PostgresChange & {
      readonly id: number;
    })[];
    const changes = found.toSorted((left, right) => left.id - right.id);
    for (const { of, before, after } of changes) {
      if (of !== 'outbox') continue;
      this.#waiting += Number(before === null) - Number(after === null);
      if (before === null) this.onWaiting();
    }
    this.seen.replicate(changes.flatMap((change) => this.#items.changesOf(change)));
  }
}

/** Returns true if a DynamoDB change is the copy of a transition or of personal data. */
function isCopy({ table, before, after }: RowChange): boolean {
  const partition = partitionOf(after ?? before);
  if (table === TABLES.registry) return partition.startsWith(RegistryRow.details);
  return table === TABLES.ledger && (partition.startsWith(LedgerRow.payment) || partition.startsWith(LedgerRow.order));
}
