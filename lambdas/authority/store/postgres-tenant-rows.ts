import { isDeepStrictEqual } from 'node:util';
import type { TenantId } from '../../kernel/ids.ts';
import { type PostgresTools, readRows, repeated, writeRows } from '../../postgres/attempts.ts';
import { MOVE_TABLE } from '../../postgres/contract.ts';
import type { Runner } from '../../postgres/database.ts';
import { APPEND_ONLY } from '../../postgres/migrations.ts';
import { KEY_OF_CORRECTION } from '../contract.ts';

const ofChain = (column: string): string => `EXISTS (
  SELECT 1 FROM transition AS chain WHERE chain.chain_id = own.${column} AND chain.sequence = 1 AND chain.tenant_id = $1)`;

interface OwnedTable {
  readonly key: readonly string[];
  /** SQL condition: the row `own` belongs to the tenant `$1`. */
  readonly isOwned: string;
}

/**
 * The tables whose rows belong to tenants, in the order in which rows are copied. Rows are deleted in the reverse
 * order. Therefore, a database that has a payment or an order also has the personal data of that payment or order.
 * Otherwise, the carrier would treat the data as erased, and delete its copies. Likewise, a database never has an ended
 * approval without the row of its end, so that no reader considers the approval pending.
 */
const TABLES = {
  details: { key: ['chain_id', 'part'], isOwned: ofChain('chain_id') },
  transition: { key: ['chain_id', 'sequence'], isOwned: 'own.tenant_id = $1' },
  work: { key: ['kind', 'chain_id', 'subject'], isOwned: ofChain('chain_id') },
  reference: { key: ['tenant_id', 'mode', 'reference'], isOwned: 'own.tenant_id = $1' },
  // The record of an order has the id of the order. It also has the id of the payment that the order may have.
  idempotency: {
    key: ['operation_id'],
    isOwned: `(${ofChain('payment_id')} OR ${ofChain('operation_id')}) AND own.operation_id NOT LIKE '%${KEY_OF_CORRECTION}'`,
  },
  approval_end: {
    key: ['approval_id'],
    isOwned: `EXISTS (
      SELECT 1 FROM approval WHERE approval.approval_id = own.approval_id AND approval.tenant_id = $1)`,
  },
  approval: { key: ['approval_id'], isOwned: 'own.tenant_id = $1' },
  activity: { key: ['chain', 'sequence'], isOwned: `own.chain IN ($1::text || '#test', $1::text || '#live')` },
  posting: { key: ['chain_id', 'sequence', 'leg'], isOwned: 'own.tenant_id = $1' },
} as const satisfies Readonly<Record<string, OwnedTable>>;

export type TenantTable = keyof typeof TABLES;

export const TENANT_TABLES = Object.keys(TABLES) as readonly TenantTable[];

/**
 * Tables whose rows are not moved: callbacks without a payment (always in the first database), the outbox (empty before
 * the copy), and the state of the moves.
 */
export const NOT_MOVED: readonly string[] = ['orphan', 'outbox', MOVE_TABLE];

/** Maximum number of rows of one statement. A transaction of Aurora DSQL may change 3,000 rows. */
const ROWS_AT_ONCE = 1_000;

/** The values as text, by column. */
export type TenantRow = Readonly<Record<string, string | null>>;

/** The role of a database in the moves of a tenant. The migration of the table `tenant_move` describes the roles. */
export type MoveRole = 'home' | 'source' | 'target' | 'empty';

export class MoveReplaced extends Error {
  override readonly name = 'MoveReplaced';
  override readonly message = 'a later run of the command has continued, finished or aborted this move';
}

/** Columns are read from the catalog, so that all columns are copied. */
export class TenantRows {
  readonly #tools: PostgresTools;
  readonly #tenantId: TenantId;
  readonly #columns: ReadonlyMap<string, Readonly<Record<string, string>>>;
  #run = 0;
  #role: MoveRole | undefined;

  private constructor(tools: PostgresTools, id: TenantId, columns: TenantRows['columns']) {
    this.#tools = tools;
    this.#tenantId = id;
    this.#columns = columns;
  }

  get columns(): ReadonlyMap<string, Readonly<Record<string, string>>> {
    return this.#columns;
  }

  static async open(tools: PostgresTools, id: TenantId): Promise<TenantRows> {
    const rows = await readRows(tools, {
      name: 'move-columns',
      text: `SELECT given.name AS of, attname AS name, format_type(atttypid, atttypmod) AS type
        FROM json_array_elements_text($1::json) AS given (name)
        JOIN pg_catalog.pg_attribute ON attrelid = to_regclass(given.name) AND attnum > 0 AND NOT attisdropped
        ORDER BY given.name, attname`,
      values: [JSON.stringify(TENANT_TABLES)],
    });
    const columns = new Map(
      [...Map.groupBy(rows, ({ of }) => String(of))].map(([table, found]) => [
        table,
        Object.fromEntries(found.map(({ name, type }) => [String(name), String(type)])),
      ]),
    );
    return new TenantRows(tools, id, columns);
  }

  hasColumnsOf(other: TenantRows): boolean {
    return isDeepStrictEqual(this.#columns, other.columns);
  }

  async missingPrivilege(): Promise<string | undefined> {
    const [row] = await readRows(this.#tools, {
      name: 'move-privileges',
      text: `SELECT privilege || ' on the table ' || name AS missing
        FROM json_array_elements_text($1::json) AS given (name),
          json_array_elements_text('["SELECT", "INSERT", "UPDATE", "DELETE"]') AS needed (privilege)
        WHERE NOT has_table_privilege(name, privilege) LIMIT 1`,
      values: [JSON.stringify([MOVE_TABLE, ...TENANT_TABLES])],
    });
    return row === undefined ? undefined : String(row['missing']);
  }

  async state(): Promise<{ readonly run: number; readonly role?: MoveRole }> {
    const text = `SELECT run, role FROM ${MOVE_TABLE} WHERE tenant_id = $1`;
    const [row] = await readRows(this.#tools, { name: 'move-read', text, values: [this.#tenantId] });
    return row === undefined ? { run: 0 } : { run: Number(row['run']), role: row['role'] as MoveRole };
  }

  /**
   * Fences all earlier runs: from now on, their statements change nothing. Waits for a statement that is being
   * executed.
   * @throws MoveReplaced if a later run has begun
   */
  async take(run: number, role: 'source' | 'target'): Promise<void> {
    await writeRows(this.#tools, {
      name: 'move-take',
      text: `INSERT INTO ${MOVE_TABLE} (tenant_id, run, role) VALUES ($1, $2, $3)
        ON CONFLICT (tenant_id) DO UPDATE SET run = EXCLUDED.run, role = EXCLUDED.role
        WHERE ${MOVE_TABLE}.run < EXCLUDED.run`,
      values: [this.#tenantId, run, role],
    });
    const found = await this.state();
    if (found.run !== run || found.role !== role) throw new MoveReplaced();
    this.#run = run;
    this.#role = role;
  }

  /**
   * Ends the run, so that none of its statements changes rows anymore. Its row of `tenant_move` remains, and fences all
   * earlier runs.
   */
  async settle(role: 'home' | 'empty'): Promise<void> {
    const text = `UPDATE ${MOVE_TABLE} SET role = $3 WHERE tenant_id = $1 AND run = $2`;
    await writeRows(this.#tools, { name: 'move-settle', text, values: [this.#tenantId, this.#run, role] });
  }

  /**
   * The lock makes a later run wait until the statements have ended:
   *
   *   run 1  ── lock ── insert ── suspended ─────────────── lock ✗
   *   run 2  ───────────── take: waits ── take ✓ ── delete
   */
  async #fenced(work: (transaction: Runner) => Promise<unknown>): Promise<void> {
    const { database, pacing } = this.#tools;
    await repeated(pacing, () =>
      database.transaction(async (transaction) => {
        const held = await transaction.run({
          name: 'move-fence',
          text: `SELECT run FROM ${MOVE_TABLE} WHERE tenant_id = $1 AND run = $2 AND role = $3 FOR UPDATE`,
          values: [this.#tenantId, this.#run, this.#role],
        });
        if (held.length === 0) throw new MoveReplaced();
        await work(transaction);
      }),
    );
  }

  async *pages(table: TenantTable): AsyncGenerator<readonly TenantRow[], void> {
    const { key, isOwned }: OwnedTable = TABLES[table];
    const types = this.#typesOf(table);
    const columns = Object.keys(types).map((name) => `own.${name}::text AS ${name}`);
    const order = key.map((name) => `own.${name}`).join(', ');
    for (let last: TenantRow | undefined; ; ) {
      const after = key.map((name, index) => `$${index + 2}::${types[name] ?? ''}`).join(', ');
      const rows = await readRows(this.#tools, {
        name: `move-${last === undefined ? 'begin' : 'continue'}-${table}`,
        text: `SELECT ${columns.join(', ')} FROM ${table} AS own
          WHERE ${isOwned} ${last === undefined ? '' : `AND (${order}) > (${after})`} ORDER BY ${order} LIMIT ${ROWS_AT_ONCE}`,
        values: [this.#tenantId, ...(last === undefined ? [] : key.map((name) => last?.[name]))],
      });
      if (rows.length > 0) yield rows as readonly TenantRow[];
      last = rows.at(-1) as TenantRow | undefined;
      if (rows.length < ROWS_AT_ONCE) return;
    }
  }

  async differing(table: TenantTable, rows: readonly TenantRow[]): Promise<readonly TenantRow[]> {
    return this.#without(`move-compare-${table}`, table, rows, this.#sameRow(table));
  }

  async absent(table: TenantTable, rows: readonly TenantRow[]): Promise<readonly TenantRow[]> {
    return this.#without(`move-absent-${table}`, table, rows, this.#sameKey(table));
  }

  /** Returns the given rows of personal data that the table lacks although it has their payments or orders. */
  async erased(rows: readonly TenantRow[]): Promise<readonly TenantRow[]> {
    const hasChain = `EXISTS (
      SELECT 1 FROM transition AS chain WHERE chain.chain_id = given.chain_id AND chain.sequence = 1)`;
    return this.#without('move-erased', 'details', rows, this.#sameKey('details'), hasChain);
  }

  async #without(name: string, table: TenantTable, rows: readonly TenantRow[], isSame: string, also = 'true') {
    const found = await readRows(this.#tools, {
      name,
      text: `SELECT given.given_index FROM ${this.#given(table)}
        WHERE NOT EXISTS (SELECT 1 FROM ${table} AS own WHERE ${isSame}) AND ${also}`,
      values: [given(rows)],
    });
    const indexes = new Set(found.map(({ given_index: index }) => Number(index)));
    return rows.filter((_, index) => indexes.has(index));
  }

  /** A row that exists is replaced, except in append-only tables. @throws MoveReplaced */
  async put(table: TenantTable, rows: readonly TenantRow[]): Promise<void> {
    const types = Object.entries(this.#typesOf(table));
    const names = types.map(([name]) => name).join(', ');
    const { key }: OwnedTable = TABLES[table];
    const replaced = types.map(([name]) => `${name} = EXCLUDED.${name}`).join(', ');
    await this.#fenced((transaction) =>
      transaction.run({
        name: `move-put-${table}`,
        text: `INSERT INTO ${table} (${names}) SELECT ${types.map(([name, type]) => `given.${name}::${type}`).join(', ')}
          FROM ${this.#given(table)}
          ON CONFLICT (${key.join(', ')}) DO ${APPEND_ONLY.has(table) ? 'NOTHING' : `UPDATE SET ${replaced}`}`,
        values: [given(rows)],
      }),
    );
  }

  /**
   * @param by `row`: deletes only rows with the same values. `key`: deletes all rows with the same key
   * @throws MoveReplaced
   */
  async delete(table: TenantTable, rows: readonly TenantRow[], by: 'row' | 'key'): Promise<void> {
    const isSame = by === 'row' ? this.#sameRow(table) : this.#sameKey(table);
    await this.#fenced((transaction) =>
      transaction.run({
        name: `move-delete-${by}-${table}`,
        text: `DELETE FROM ${table} AS own USING ${this.#given(table)} WHERE ${isSame}`,
        values: [given(rows)],
      }),
    );
  }

  async waitingChains(): Promise<readonly string[]> {
    const rows = await readRows(this.#tools, {
      name: 'move-waiting',
      text: `SELECT DISTINCT own.chain_id FROM outbox AS own WHERE ${ofChain('chain_id')} LIMIT ${ROWS_AT_ONCE}`,
      values: [this.#tenantId],
    });
    return rows.map(({ chain_id: id }) => String(id));
  }

  #typesOf(table: TenantTable): Readonly<Record<string, string>> {
    return this.#columns.get(table) ?? {};
  }

  #given(table: TenantTable): string {
    const names = Object.keys(this.#typesOf(table));
    return `json_to_recordset($1::json) AS given (given_index integer, ${names.map((name) => `${name} text`).join(', ')})`;
  }

  #sameKey(table: TenantTable): string {
    const { key }: OwnedTable = TABLES[table];
    const types = this.#typesOf(table);
    return key.map((name) => `own.${name} = given.${name}::${types[name] ?? ''}`).join(' AND ');
  }

  #sameRow(table: TenantTable): string {
    // PostgreSQL cannot compare `json` values. It stores their text unchanged, so the texts are compared.
    const others = Object.entries(this.#typesOf(table)).map(([name, type]) =>
      type === 'json'
        ? `own.${name}::text IS NOT DISTINCT FROM given.${name}`
        : `own.${name} IS NOT DISTINCT FROM given.${name}::${type}`,
    );
    return [this.#sameKey(table), ...others].join(' AND ');
  }
}

function given(rows: readonly TenantRow[]): string {
  return JSON.stringify(rows.map((row, index) => ({ ...row, given_index: index })));
}

export function keyOfRow(table: TenantTable, row: TenantRow): TenantRow {
  const { key }: OwnedTable = TABLES[table];
  return Object.fromEntries(key.map((name) => [name, row[name] ?? null]));
}
