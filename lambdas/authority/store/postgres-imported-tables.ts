import { TerminalError } from '../../kernel/faults.ts';
import { COLUMNS_OF_RECORD } from '../../once/store/postgres-record-rows.ts';
import { type PostgresTools, readRows, writeRows } from '../../postgres/attempts.ts';
import type { Row } from '../../postgres/database.ts';

/** The tables whose rows an import writes, except chains and personal data. */
const TABLES = {
  idempotency: {
    key: ['operation_id'],
    columns: COLUMNS_OF_RECORD,
  },
  work: {
    key: ['kind', 'chain_id', 'subject'],
    columns: {
      kind: 'text',
      chain_id: 'text',
      subject: 'text',
      concerns: 'text',
      queue: 'text',
      due_at: 'timestamptz',
      since: 'timestamptz',
      reason: 'text',
      version: 'bigint',
      undecidable: 'boolean',
    },
  },
  orphan: {
    key: ['operation_id'],
    columns: {
      operation_id: 'text',
      received_at: 'timestamptz',
      reason: 'text',
      is_foreign: 'boolean',
      due_at: 'timestamptz',
      event: 'json',
    },
  },
  reference: {
    key: ['tenant_id', 'mode', 'reference'],
    columns: { tenant_id: 'text', mode: 'text', reference: 'text', payment_id: 'text' },
  },
  approval: {
    key: ['approval_id'],
    columns: {
      approval_id: 'text',
      created_at: 'timestamptz',
      tenant_id: 'text',
      mode: 'text',
      payment_id: 'text',
      body: 'json',
    },
  },
  approval_end: {
    key: ['approval_id'],
    columns: { approval_id: 'text', verdict: 'text', ended_at: 'timestamptz', body: 'json' },
  },
} as const satisfies Readonly<Record<string, TableShape>>;

interface TableShape {
  readonly key: readonly string[];
  readonly columns: Readonly<
    Record<string, 'text' | 'integer' | 'bigint' | 'bytea' | 'boolean' | 'timestamptz' | 'json'>
  >;
}

export type ImportedTable = keyof typeof TABLES;

export const IMPORTED_TABLES = Object.keys(TABLES) as readonly ImportedTable[];

/**
 * Imported tables whose rows can be changed or deleted. An import first deletes the rows that an earlier import left in
 * them. Rows of the other imported tables are never deleted.
 */
const CHANGING: readonly ImportedTable[] = ['idempotency', 'work', 'orphan', 'reference'];
/**
 * Maximum number of rows that one statement deletes. A transaction of Aurora DSQL may change 3,000 rows (user guide,
 * "Cluster quotas and database limits").
 */
const DELETED_AT_ONCE = 1_000;

/** @throws a fault from the database, TerminalError for a missing privilege */
export async function checkWritable(tools: PostgresTools): Promise<void> {
  const given = [
    ...['transition', 'posting', 'details', ...IMPORTED_TABLES].map((table) => [table, 'INSERT'] as const),
    ...CHANGING.map((table) => [table, 'DELETE'] as const),
  ];
  const rows = await readRows(tools, {
    name: 'import-privileges',
    text: `SELECT name, privilege FROM json_to_recordset($1::json) AS given (name text, privilege text)
      WHERE NOT has_table_privilege(name, privilege)`,
    values: [JSON.stringify(given.map(([name, privilege]) => ({ name, privilege })))],
  });
  const [missing] = rows;
  if (missing === undefined) return;
  const { name, privilege } = missing;
  throw new TerminalError('store_refused', `the role lacks ${String(privilege)} on the table ${String(name)}`);
}

/**
 * Deletes the rows that an earlier import has left.
 * @param between called before each statement; it may throw, which stops the import
 */
export async function clearTables(tools: PostgresTools, between: () => Promise<void>): Promise<void> {
  for (const table of CHANGING) {
    const key = TABLES[table].key.join(', ');
    const statement = {
      name: `import-clear-${table}`,
      text: `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} LIMIT $1) RETURNING 1 AS deleted`,
      values: [DELETED_AT_ONCE],
    };
    do await between();
    while ((await writeRows(tools, statement)).length > 0);
  }
}

/**
 * Writes the given rows whose keys do not exist in the table, then compares all given rows with the table.
 *
 * @returns the keys of the given rows that differ from the rows of the table
 */
export async function importRows(
  tools: PostgresTools,
  table: ImportedTable,
  rows: readonly object[],
): Promise<readonly Row[]> {
  if (rows.length === 0) return [];
  const { key, columns }: TableShape = TABLES[table];
  // A nested document is text within the statement's JSON. Otherwise, PostgreSQL would decode its escapes and refuse
  // U+0000.
  const given = `json_to_recordset($1::json) AS given (${Object.entries(columns)
    .map(([name, type]) => `${name} ${type === 'json' ? 'text' : type}`)
    .join(', ')})`;
  const names = Object.keys(columns).join(', ');
  const values = Object.entries(columns).map(([name, type]) =>
    type === 'json' ? `given.${name}::json` : `given.${name}`,
  );
  const isSame = Object.entries(columns).map(([name, type]) =>
    key.includes(name)
      ? `own.${name} = given.${name}`
      : `own.${name}${type === 'json' ? '::text' : ''} IS NOT DISTINCT FROM given.${name}`,
  );
  await writeRows(tools, {
    name: `import-${table}`,
    text: `INSERT INTO ${table} (${names}) SELECT ${values.join(', ')} FROM ${given}
      ON CONFLICT (${key.join(', ')}) DO NOTHING`,
    values: [JSON.stringify(rows)],
  });
  return readRows(tools, {
    name: `import-compare-${table}`,
    text: `SELECT ${key.join(', ')} FROM ${given}
      WHERE NOT EXISTS (SELECT 1 FROM ${table} AS own WHERE ${isSame.join(' AND ')})`,
    values: [JSON.stringify(rows)],
  });
}

export async function countRows(tools: PostgresTools, table: string): Promise<number> {
  const text = `SELECT count(*) AS rows FROM ${table}`;
  const [row] = await readRows(tools, { name: `import-count-${table}`, text, values: [] });
  return Number(row?.['rows']);
}
