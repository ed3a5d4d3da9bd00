import type { ActivityEntry } from '../activity/domain/activity.ts';
import { DynamoDbLedgerRows } from '../archive/store/dynamodb-ledger-rows.ts';
import { isFault } from '../kernel/faults.ts';
import { invariant } from '../kernel/invariant.ts';
import type { Item } from '../kernel/platform/items.ts';
import type { StoreTables } from '../once/store/transact-items.ts';
import { ORDER_CHAIN } from '../orders/store/postgres-orders.ts';
import { PAYMENT_CHAIN } from '../payments/store/postgres-carrier.ts';
import { chainsAmong } from '../payments/store/postgres-chains.ts';
import type { Database } from '../postgres/database.ts';
import { TenantPlacement } from '../tenants/store/tenant-placement.ts';
import { DynamoDbLedgerScan } from '../views/store/dynamodb-ledger-scan.ts';
import { scanAll } from '../views/use/scan-all.ts';
import { IMPORT_WAITS_MS } from './contract.ts';
import { type ImportDatabase, type ImportedChains, type ImportedInto, importChains } from './import-chains.ts';
import { bindingOf, type ImportedRow, rowsOfRecord, rowsOfRegistry } from './import-rows.ts';
import type { AuthorityLog } from './store/authority-log.ts';
import { type AuthorityStateTools, checkedDatabase, readAuthorityState, stateAfter } from './store/authority-state.ts';
import {
  checkWritable,
  clearTables,
  countRows,
  IMPORTED_TABLES,
  type ImportedTable,
  importRows,
} from './store/postgres-imported-tables.ts';
import { ScannedItems } from './store/scanned-items.ts';

export interface ImportTools extends AuthorityStateTools {
  readonly tables: StoreTables;
  /** In the order of the settings. */
  readonly databases: readonly { readonly name: string; readonly database: Database }[];
  readonly log: Pick<AuthorityLog, 'newest' | 'append' | 'write'>;
}

interface ImportExtent {
  /** Number of segments of each table that are read concurrently. */
  readonly segments: number;
  /** Called with a text for the operator after every page, and when a wait begins. */
  readonly progress: (text: string) => void;
}

interface Run extends ImportExtent {
  readonly tools: ImportTools;
  readonly databases: readonly ImportDatabase[];
  readonly placement: TenantPlacement;
  /** Called between pages. @throws Replaced */
  readonly current: () => Promise<void>;
}

/** For a table with a different number of rows, `key` contains both numbers. */
export interface DifferentRow {
  readonly table: string;
  readonly key: Readonly<Record<string, unknown>>;
  /** Absent if the row cannot be read. */
  readonly database?: string;
}

interface ImportedRows {
  /** Number of rows by table. */
  readonly rows: Readonly<Record<ImportedTable, number>>;
  readonly differentRows: readonly DifferentRow[];
}

type Refused =
  /** Another command has canceled or replaced this import. */
  | { readonly kind: 'replaced' }
  /** PostgreSQL was already the system of record. */
  | { readonly kind: 'postgres' };

type Copied = { readonly kind: 'copied' } & ImportedChains;

type Finished =
  | ({ readonly kind: 'finished' } & ImportedChains & ImportedRows)
  /** All writes are still stopped. */
  | ({ readonly kind: 'differs' } & ImportedChains & Partial<ImportedRows>);

export type Imported = Copied | Finished | Refused;

/**
 * Maximum age, in milliseconds, of the last check that no other command has replaced the import. After this time, the
 * next statement repeats the check.
 */
const ASKED_EVERY_MS = 5_000;
const MAX_KEPT = 10_000;

class Replaced extends Error {
  override readonly name = 'Replaced';
}

/**
 * Copies transitions and personal data while payments continue in DynamoDB, so that finishing the import takes less
 * time.
 */
export async function copyChains(tools: ImportTools, extent: ImportExtent): Promise<Copied | Refused> {
  const begun = await tools.log.newest();
  if ((await readAuthorityState(tools))?.authority === 'postgres') return { kind: 'postgres' };
  return unlessReplaced(tools, extent, begun, async (run) => {
    const { into: _, ...chains } = await chainsOf(run);
    return { kind: 'copied', ...chains };
  });
}

/**
 * Stops all writes, waits until no process writes, copies the rows that PostgreSQL lacks, and compares each row. If a
 * row differs, the writes stay stopped until the import is repeated or canceled.
 *
 *   process  ── claim ✓ ── call ── commit ✗ 503
 *   import   ──── stop ──── wait ──── copy: open claim ── compare ── place ── finish
 *   retry    ────────────────────────────────────────────────────────────────────── takes over, asks the processor
 */
export async function finishImport(tools: ImportTools, extent: ImportExtent): Promise<Finished | Refused> {
  const { log, pacing } = tools;
  const before = await log.newest();
  if ((await readAuthorityState(tools))?.authority === 'postgres') return { kind: 'postgres' };
  for (const { database } of tools.databases) await checkWritable({ database, pacing });
  // This entry also replaces an import that was interrupted or is still running.
  const started = await log.append(before, 'import.started');
  if (started === undefined) return { kind: 'replaced' };
  return unlessReplaced(tools, extent, started, async (run) => {
    const [{ appended }] = await Promise.all([
      chainsOf(run).finally(() => extent.progress('waiting until no process writes')),
      pacing.clock.sleep(IMPORT_WAITS_MS),
    ]);
    const { into, ...last } = await chainsOf(run);
    const chains = { ...last, appended: appended + last.appended };
    if (chains.different.length > 0) return { kind: 'differs', ...chains };
    const rows = await copyRows(run, into);
    if (rows.differentRows.length > 0) return { kind: 'differs', ...chains, ...rows };
    await placeTenants(run, started);
    const examples = Object.fromEntries([...into].map(([name, { example = '' }]) => [name, example]));
    const finished = await log.append(started, 'import.finished', examples);
    return finished === undefined ? { kind: 'replaced' } : { kind: 'finished', ...chains, ...rows };
  });
}

/**
 * If the import was suspended and another command has replaced it, no tenant's row changes:
 *
 *   import   ── compares ── [suspended] ───────────────────────────── place ✗
 *   another  ────────────────────────── canceled ── one database: finished
 *
 * @throws Replaced
 */
async function placeTenants({ tools, placement, current }: Run, started: ActivityEntry): Promise<void> {
  for (let after: string | undefined; ; ) {
    await current();
    const { writes, next } = await placement.page(after);
    if (writes.length > 0 && !(await tools.log.write(started, writes))) throw new Replaced();
    if (next === undefined) return;
    after = next;
  }
}

/**
 * Lets writes continue in DynamoDB. @returns false if no import has stopped the writes, or if another command has
 * written to the log first
 */
export async function cancelImport(tools: Pick<ImportTools, 'log'>): Promise<boolean> {
  const newest = await tools.log.newest();
  if (!(await isStopped(tools))) return false;
  return (await tools.log.append(newest, 'import.canceled')) !== undefined;
}

export async function isStopped({ log }: Pick<ImportTools, 'log'>): Promise<boolean> {
  const newest = await log.newest();
  return newest !== undefined && stateAfter(newest).isImporting;
}

/**
 * Runs `work` until another command writes to the log, so that this import changes no rows after another import has
 * finished. Each statement also checks the log if the last check is older than {@link ASKED_EVERY_MS}. Therefore, an
 * import on a computer that was suspended does not continue.
 *
 * @param begun the newest entry when this import began
 */
async function unlessReplaced<Result>(
  tools: ImportTools,
  extent: ImportExtent,
  begun: ActivityEntry | undefined,
  work: (run: Run) => Promise<Result>,
): Promise<Result | { readonly kind: 'replaced' }> {
  const { client, tables, log, pacing } = tools;
  let askedAtMs = 0;
  const current = async (): Promise<void> => {
    const nowMs = pacing.clock.nowMs();
    if ((await log.newest())?.sequence !== begun?.sequence) throw new Replaced();
    askedAtMs = nowMs;
  };
  const isOld = () => Math.abs(pacing.clock.nowMs() - askedAtMs) > ASKED_EVERY_MS;
  const databases = tools.databases.map(({ name, database }) => ({
    name,
    database: checkedDatabase(database, async () => isOld() && current()),
    pacing,
  }));
  const names = databases.map(({ name }) => name);
  const placement = new TenantPlacement({ client, registryTable: tables.registry, pacing }, names);
  try {
    return await work({ ...extent, tools, databases, placement, current });
  } catch (error) {
    if (error instanceof Replaced) return { kind: 'replaced' };
    throw error;
  }
}

function chainsOf({ tools, databases, placement, segments, progress, current }: Run) {
  const { client, tables, pacing } = tools;
  const chains = [PAYMENT_CHAIN, ORDER_CHAIN];
  return importChains(
    {
      databases,
      databaseOf: (tenant) => placement.of(tenant),
      scan: new DynamoDbLedgerScan(client, tables.ledger, pacing),
      ledger: new DynamoDbLedgerRows(client, tables.ledger, pacing),
      details: { client, registry: tables.registry, pacing },
      rowsOfCopy: (chainId, item) => {
        const chain = chains.find(({ owns }) => owns(chainId));
        invariant(chain !== undefined, `${chainId} is the id of neither a payment nor an order`);
        return chain.rowsOfCopy(item);
      },
    },
    segments,
    async (read) => {
      progress(`${read} payments and orders`);
      await current();
    },
  );
}

/**
 * Also counts the rows of all tables, to find rows that are in the wrong database. Requires that no process writes.
 *
 * @param into the numbers of rows that each database must have according to the Ledger, by the name of the database
 */
async function copyRows(run: Run, into: ReadonlyMap<string, ImportedInto>): Promise<ImportedRows> {
  const { tools, databases, segments, progress, current } = run;
  const { client, tables, pacing } = tools;
  for (const database of databases) await clearTables(database, current);
  const copied = new Map(databases.map((database) => [database, noRows()]));
  const differentRows: DifferentRow[] = [];
  const report = (row: DifferentRow): void => {
    if (differentRows.length < MAX_KEPT) differentRows.push(row);
  };
  const scanned = new ScannedItems(client, pacing);
  const sources = [
    [tables.idempotency, rowsOfRecord],
    [tables.registry, rowsOfRegistry],
  ] as const;
  for (const [source, rowsOf] of sources) {
    await scanAll(
      {
        step: (step) => scanned.page(source, step),
        each: async (items) => {
          const given = items.flatMap((item) => readable(() => rowsOf(item)) ?? unreadable(item, source, report));
          for (const [database, own] of await byDatabase(databases, given))
            await copyTo(database, own, copied.get(database) ?? noRows(), report);
        },
        progress: async () => {
          progress(`${Object.values(sumOf(copied)).reduce((sum, count) => sum + count, 0)} other rows`);
          await current();
        },
      },
      Array.from({ length: segments }, () => ''),
    );
  }
  for (const [database, rows] of copied)
    for (const [table, expected] of Object.entries({ ...rows, ...into.get(database.name)?.rows })) {
      const counted = await countRows(database, table);
      if (counted !== expected) report({ table, key: { rows: counted, expected }, database: database.name });
    }
  return { rows: sumOf(copied), differentRows };
}

type RowCounts = Record<ImportedTable, number>;

function noRows(): RowCounts {
  return Object.fromEntries(IMPORTED_TABLES.map((table) => [table, 0])) as RowCounts;
}

function sumOf(copied: ReadonlyMap<ImportDatabase, RowCounts>): RowCounts {
  const sum = noRows();
  for (const rows of copied.values()) for (const table of IMPORTED_TABLES) sum[table] += rows[table];
  return sum;
}

async function copyTo(
  database: ImportDatabase,
  given: readonly ImportedRow[],
  copied: RowCounts,
  report: (row: DifferentRow) => void,
): Promise<void> {
  for (const table of IMPORTED_TABLES) {
    const rows = given.filter((row) => row.table === table).map(({ row }) => row);
    copied[table] += rows.length;
    for (const key of await importRows(database, table, rows)) report({ table, key, database: database.name });
  }
}

/**
 * A row belongs to the database that has its payment or order, otherwise to the first database. With several databases,
 * adds the rows of {@link bindingOf}.
 */
async function byDatabase(
  databases: readonly ImportDatabase[],
  rows: readonly ImportedRow[],
): Promise<ReadonlyMap<ImportDatabase, readonly ImportedRow[]>> {
  const [first] = databases;
  invariant(first !== undefined, 'an import needs a database');
  if (databases.length === 1) return new Map([[first, rows]]);
  const ids = rows.flatMap(({ chainId }) => chainId ?? []);
  const found = await Promise.all(databases.map(async (each) => [each, await chainsAmong(each, ids)] as const));
  const having = new Map(found.flatMap(([database, own]) => own.map((id) => [id, database] as const)));
  return Map.groupBy([...rows, ...rows.flatMap(bindingOf)], ({ chainId = '' }) => having.get(chainId) ?? first);
}

function readable(rowsOf: () => readonly ImportedRow[]): readonly ImportedRow[] | undefined {
  try {
    return rowsOf();
  } catch (error) {
    if (isFault(error)) throw error;
    return undefined;
  }
}

function unreadable(item: Item, table: string, report: (row: DifferentRow) => void): readonly ImportedRow[] {
  const { pk, sk } = item;
  report({ table, key: sk === undefined ? { pk } : { pk, sk } });
  return [];
}
