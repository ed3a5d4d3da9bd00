import { recoverPostgres } from '../../../lambdas/authority/recover-postgres.ts';
import { DynamoDbImpliedRows } from '../../../lambdas/resolving/store/dynamodb-implied-rows.ts';
import { DynamoDbRowsOfChains } from '../../../lambdas/resolving/store/dynamodb-rows-of-chains.ts';
import { closeRemnants } from '../../../lambdas/resolving/use/close-remnants.ts';
import type { MemoryDynamoDb } from '../memory-dynamodb.ts';
import { TABLES } from '../tables.ts';
import type { RestoreSeen } from './contract.ts';
import { operatorIn, rebuildAllQueues } from './operator.ts';
import type { AuthorityBooks } from './postgres.ts';
import type { Simulation } from './simulation.ts';

interface Deployed {
  readonly simulation: Simulation;
  readonly database: MemoryDynamoDb;
  readonly isByHand: () => boolean;
  /** Set when PostgreSQL is the authority. */
  readonly books: AuthorityBooks | undefined;
  /**
   * Called with `false` to make the tables unavailable to functions, and with `true` to start new processes that use
   * the restored tables.
   */
  readonly reachable: (isReachable: boolean) => void;
  readonly at: (atMs: number, name: string, what: () => Promise<void>) => void;
}

/**
 * Tables, ordered by the point in time to which an operator restores each table, the latest first
 * (docs/operate/runbook/README.md).
 */
const YOUNGEST_FIRST = [TABLES.registry, TABLES.ledger, TABLES.idempotency] as const;
/** Share of the losses of PostgreSQL in which the lost transitions were already copied to the Ledger. */
const COPIED_SHARE = 0.8;
/** Time until an operator has restored and recovered the tables, in milliseconds. */
const AWAY_MS = 10 * 60_000;

/**
 * Loses the tables within a transaction and restores them: each table to one point in time, or all tables with any
 * choice of the rows of the transaction. Every function execution ends, and an operator makes the tables consistent.
 *
 * With PostgreSQL as the authority, PostgreSQL is lost instead and restored to the point in time before a transaction,
 * whose transitions may already be copied to the Ledger.
 */
export class TableRestores {
  readonly #deployed: Deployed;
  readonly seen: RestoreSeen[] = [];
  /** In Unix milliseconds. */
  #recoveredAtMs = 0;

  constructor(deployed: Deployed) {
    this.#deployed = deployed;
  }

  /** In Unix milliseconds. */
  get recoveredAtMs(): number {
    return this.#recoveredAtMs;
  }

  /**
   * @param nth selects the transaction: 1 is the next one. Only transactions that write to several tables are counted
   * or, if `choice` is given, transactions that write several rows
   *
   * @param choice selects the rows that remain; at least one row is lost
   *
   * @default tables restored to a later point contain all rows of the transaction, and others contain none
   */
  loseWithin(nth: number, name: string, choice?: number): void {
    const { simulation, database, books, isByHand } = this.#deployed;
    if (books !== undefined)
      return books.loseWithin(nth, simulation.decide(`${name} copied`) < COPIED_SHARE, () => this.#lose(name));
    let left = nth;
    database.cutTransaction((rows) => {
      const tables = YOUNGEST_FIRST.filter((table) => rows.some((row) => row.table === table));
      const parts = choice === undefined ? tables : rows;
      // Never lose the tables while an operator restores a row: in production, the operator would repeat the failed
      // command after the recovery.
      if (isByHand() || parts.length < 2 || rows.some(({ table }) => table === TABLES.views)) return undefined;
      left -= 1;
      if (left > 0) return undefined;
      this.#lose(name);
      if (choice !== undefined) return rowsOfChoice(rows.length, choice);
      const younger = 1 + Math.floor(simulation.decide(`${name} tables`) * (tables.length - 1));
      const kept: ReadonlySet<string> = new Set(tables.slice(0, younger));
      return rows.flatMap(({ table }, place) => (kept.has(table) ? [place] : []));
    });
  }

  end(): void {
    this.#deployed.books?.keep();
    this.#deployed.database.resume();
  }

  #lose(name: string): void {
    const { simulation, database, reachable, at } = this.#deployed;
    simulation.severFunctions();
    reachable(false);
    // Resume the database after the transaction: the caller of the transaction has been killed, and the operator's
    // commands must read the restored tables.
    queueMicrotask(() => database.resume());
    this.#recoveredAtMs = simulation.nowMs + AWAY_MS;
    at(this.#recoveredAtMs, `${name} is recovered`, async () => {
      this.seen.push({ atMs: simulation.nowMs, ...(await this.#recover()) });
      reachable(true);
    });
  }

  async #recover(): Promise<Omit<RestoreSeen, 'atMs'>> {
    const { simulation, database, books } = this.#deployed;
    const operator = operatorIn(simulation, database);
    const { documents, pacing, store, process } = operator;
    if (books !== undefined) {
      const tools = { client: documents, tables: TABLES, pacing, database: books.operatorDatabase(process) };
      const { stopped, erased, broken, unreadable } = await recoverPostgres(tools, 1, () => {});
      return { lost: [], named: [...stopped.map(({ chainId }) => chainId), ...erased, ...broken, ...unreadable] };
    }
    const implied = new DynamoDbImpliedRows(documents, TABLES, pacing);
    const chainRows = new DynamoDbRowsOfChains(documents, TABLES, pacing);
    const tools = { store, approvals: store, orders: store, chainRows, implied, clock: process.clock };
    const { lost } = await closeRemnants(tools, 1, () => {});
    const { unreadable, broken } = await rebuildAllQueues(operator);
    return { lost, named: [...unreadable, ...broken] };
  }
}

/** At least one row is lost. */
export function choicesOf(rows: number): number {
  return 2 ** rows - 1;
}

/** The choice is taken modulo the number of choices. */
function rowsOfChoice(rows: number, choice: number): readonly number[] {
  const bits = choice % choicesOf(rows);
  return Array.from({ length: rows }, (_, place) => place).filter((place) => (bits >> place) & 1);
}
