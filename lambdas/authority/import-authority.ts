import type { ActivityEntry } from '../activity/domain/activity.ts';
import { DynamoDbLedgerRows } from '../archive/store/dynamodb-ledger-rows.ts';
import { isFault } from '../kernel/faults.ts';
import { invariant } from '../kernel/invariant.ts';
import type { Item } from '../kernel/platform/items.ts';
import type { StoreTables } from '../once/store/transact-items.ts';
import { ORDER_CHAIN } from '../orders/store/postgres-orders.ts';
import { PAYMENT_CHAIN } from '../payments/store/postgres-carrier.ts';
import type { PostgresTools } from '../postgres/attempts.ts';
import { DynamoDbLedgerScan } from '../views/store/dynamodb-ledger-scan.ts';
import { scanAll } from '../views/use/scan-all.ts';
import { IMPORT_WAITS_MS } from './contract.ts';
import { type ImportedChains, importChains } from './import-chains.ts';
import { type ImportedRow, rowsOfRecord, rowsOfRegistry } from './import-rows.ts';
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

export interface ImportTools extends PostgresTools, Pick<AuthorityStateTools, 'client'> {
  readonly tables: StoreTables;
  readonly log: Pick<AuthorityLog, 'newest' | 'append'>;
}

interface ImportExtent {
  /** Number of segments of each table that are read concurrently. */
  readonly segments: number;
  /** Called after every page. */
  readonly progress: (text: string) => void;
}

/**
 * A difference that the import found: a row whose copy in PostgreSQL is missing or differs from the DynamoDB row, a row
 * that this version cannot read, or a table with a different number of rows, whose `key` has both numbers.
 */
export interface DifferentRow {
  readonly table: string;
  readonly key: Readonly<Record<string, unknown>>;
}

interface ImportedRows {
  /** Number of rows by table. */
  readonly rows: Readonly<Record<ImportedTable, number>>;
  readonly differentRows: readonly DifferentRow[];
}

/** The reason why nothing more is copied. */
type Refused =
  /** Another command has canceled or replaced this import. */
  | { readonly kind: 'replaced' }
  /** PostgreSQL was already the system of record. */
  | { readonly kind: 'postgres' };

type Copied = { readonly kind: 'copied' } & ImportedChains;

type Finished =
  /** PostgreSQL is the system of record now. */
  | ({ readonly kind: 'finished' } & ImportedChains & ImportedRows)
  /** All writes are still stopped. */
  | ({ readonly kind: 'differs' } & ImportedChains & Partial<ImportedRows>);

export type Imported = Copied | Finished | Refused;

/** Interval at which an import checks whether another command has replaced it, in milliseconds. */
const ASKED_EVERY_MS = 5_000;
/** Maximum number of rows to keep, more than an operator would read. */
const MAX_KEPT = 10_000;

/** Thrown when another command has canceled or replaced this import. */
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
  return unlessReplaced(tools, begun, async (current, fenced) => ({
    kind: 'copied',
    ...(await chainsOf(fenced, extent, current)),
  }));
}

/**
 * Stops all writes, waits until no process writes, copies the rows that PostgreSQL lacks, and compares each row.
 * If no row differs, PostgreSQL becomes the system of record. Otherwise, the writes stay stopped until the import is
 * repeated or canceled.
 *
 *   process  ── claim ✓ ── call ── commit ✗ 503
 *   import   ──────── stop ────── wait ────────── copy: open claim ── compare ── finish
 *   retry    ────────────────────────────────────────────────────────────────────────── takes over, asks the processor
 */
export async function finishImport(tools: ImportTools, extent: ImportExtent): Promise<Finished | Refused> {
  const { log, pacing } = tools;
  const before = await log.newest();
  if ((await readAuthorityState(tools))?.authority === 'postgres') return { kind: 'postgres' };
  await checkWritable(tools);
  // This entry also replaces an import that was interrupted or is still running.
  const started = await log.append(before, 'import.started');
  if (started === undefined) return { kind: 'replaced' };
  return unlessReplaced(tools, started, async (current, fenced) => {
    const [{ appended }] = await Promise.all([
      chainsOf(fenced, extent, current).finally(() => extent.progress('waiting until no process writes')),
      pacing.clock.sleep(IMPORT_WAITS_MS),
    ]);
    const last = await chainsOf(fenced, extent, current);
    const chains = { ...last, appended: appended + last.appended };
    if (chains.different.length > 0) return { kind: 'differs', ...chains };
    const rows = await copyRows(fenced, extent, current);
    if (rows.differentRows.length > 0) return { kind: 'differs', ...chains, ...rows };
    const finished = await log.append(started, 'import.finished', chains.example);
    return finished === undefined ? { kind: 'replaced' } : { kind: 'finished', ...chains, ...rows };
  });
}

/** Lets writes continue in DynamoDB. @returns false if no import has stopped them */
export async function cancelImport(tools: Pick<ImportTools, 'log'>): Promise<boolean> {
  const newest = await tools.log.newest();
  if (!(await isStopped(tools))) return false;
  return (await tools.log.append(newest, 'import.canceled')) !== undefined;
}

/** Reports whether an import has stopped all writes. */
export async function isStopped({ log }: Pick<ImportTools, 'log'>): Promise<boolean> {
  const newest = await log.newest();
  return newest !== undefined && stateAfter(newest).isImporting;
}

/**
 * Runs `work`, which calls `current` before each page. The work ends when another command has written to the log, so
 * that this import changes no rows after another import has finished. Each statement of `fenced` also checks the log if
 * the last check is older than {@link ASKED_EVERY_MS}, so that a computer that was suspended does not continue.
 *
 * @param begun the newest entry when this import began
 */
async function unlessReplaced<Result>(
  tools: ImportTools,
  begun: ActivityEntry | undefined,
  work: (current: () => Promise<void>, fenced: ImportTools) => Promise<Result>,
): Promise<Result | { readonly kind: 'replaced' }> {
  const { log, database, pacing } = tools;
  let askedAtMs = 0;
  const current = async (): Promise<void> => {
    const nowMs = pacing.clock.nowMs();
    if ((await log.newest())?.sequence !== begun?.sequence) throw new Replaced();
    askedAtMs = nowMs;
  };
  const isOld = () => Math.abs(pacing.clock.nowMs() - askedAtMs) > ASKED_EVERY_MS;
  const fenced = { ...tools, database: checkedDatabase(database, async () => isOld() && current()) };
  try {
    return await work(current, fenced);
  } catch (error) {
    if (error instanceof Replaced) return { kind: 'replaced' };
    throw error;
  }
}

function chainsOf(
  tools: ImportTools,
  { segments, progress }: ImportExtent,
  between: () => Promise<void>,
): Promise<ImportedChains> {
  const { client, tables, pacing } = tools;
  const chains = [PAYMENT_CHAIN, ORDER_CHAIN];
  return importChains(
    {
      ...tools,
      scan: new DynamoDbLedgerScan(client, tables.ledger, pacing),
      ledger: new DynamoDbLedgerRows(client, tables.ledger, pacing),
      details: { client, registry: tables.registry, pacing },
      rowsOfCopy: (chainId, item) => {
        const chain = chains.find(({ owns }) => owns(chainId));
        invariant(chain !== undefined, `no chain has the id ${chainId}`);
        return chain.rowsOfCopy(item);
      },
    },
    segments,
    async (read) => {
      progress(`${read} payments and orders`);
      await between();
    },
  );
}

/** Copies and compares the rows of Idempotency and Registry. Requires that no process writes. */
async function copyRows(
  tools: ImportTools,
  { segments, progress }: ImportExtent,
  between: () => Promise<void>,
): Promise<ImportedRows> {
  const { client, tables, pacing } = tools;
  await clearTables(tools, between);
  const rows = Object.fromEntries(IMPORTED_TABLES.map((table) => [table, 0])) as Record<ImportedTable, number>;
  const differentRows: DifferentRow[] = [];
  const report = (table: string, key: DifferentRow['key']): void => {
    if (differentRows.length < MAX_KEPT) differentRows.push({ table, key });
  };
  const scanned = new ScannedItems(client, pacing);
  const sources = [
    [tables.idempotency, rowsOfRecord],
    [tables.registry, rowsOfRegistry],
  ] as const;
  for (const [source, rowsOf] of sources) {
    const each = async (items: readonly Item[]): Promise<void> => {
      const given = items.flatMap((item) => readable(() => rowsOf(item)) ?? unreadable(item, source, report));
      for (const table of IMPORTED_TABLES) {
        const ofTable = given.filter((row) => row.table === table).map(({ row }) => row);
        rows[table] += ofTable.length;
        for (const key of await importRows(tools, table, ofTable)) report(table, key);
      }
    };
    await scanAll(
      {
        step: (step) => scanned.page(source, step),
        each,
        progress: async () => {
          progress(`${Object.values(rows).reduce((sum, count) => sum + count, 0)} other rows`);
          await between();
        },
      },
      Array.from({ length: segments }, () => ''),
    );
  }
  for (const table of IMPORTED_TABLES) {
    const counted = await countRows(tools, table);
    if (counted !== rows[table]) report(table, { rows: counted, expected: rows[table] });
  }
  return { rows, differentRows };
}

function readable(rowsOf: () => readonly ImportedRow[]): readonly ImportedRow[] | undefined {
  try {
    return rowsOf();
  } catch (error) {
    if (isFault(error)) throw error;
    return undefined;
  }
}

function unreadable(item: Item, table: string, report: (table: string, key: Item) => void): readonly ImportedRow[] {
  const { pk, sk } = item;
  report(table, sk === undefined ? { pk } : { pk, sk });
  return [];
}
