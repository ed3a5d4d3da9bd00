import { isDeepStrictEqual } from 'node:util';
import { violationAt } from '../archive/domain/chain-row.ts';
import { type LedgerRows, partitionOfChain, type ReadRow, wholeChain } from '../archive/use/ledger-rows.ts';
import { defined } from '../kernel/defined.ts';
import { sameBytes } from '../kernel/digest.ts';
import { isFault } from '../kernel/faults.ts';
import { hex, type Link } from '../kernel/hash-chain.ts';
import type { TenantId } from '../kernel/ids.ts';
import { systemDigest } from '../kernel/platform/platform.ts';
import { sealOf } from '../kernel/sealed-details.ts';
import { type DetailsRows, type DetailsTools, readDetailsRows } from '../once/store/details-rows.ts';
import { rounds } from '../once/use/rounds.ts';
import type { ChainId } from '../payments/ids.ts';
import type { NewDetails } from '../payments/store/items.ts';
import { listChainIds } from '../payments/store/postgres-chains.ts';
import {
  newDetailsOf,
  newDetailsOfCopy,
  type RowsOfCopy,
  rowOfDetails,
  storedOfCopy,
  storedOfRow,
} from '../payments/store/postgres-rows.ts';
import { detailsStatement, importStatement } from '../payments/store/postgres-statements.ts';
import { type PostgresTools, readRows, writeIf, writeRows } from '../postgres/attempts.ts';
import { valuesOf } from '../postgres/values.ts';
import type { LedgerScan } from '../views/use/ledger-scan.ts';
import { scanAll } from '../views/use/scan-all.ts';

export interface ImportDatabase extends PostgresTools {
  readonly name: string;
}

interface ImportChainsTools {
  readonly databases: readonly ImportDatabase[];
  /**
   * Returns the name of a tenant's database; undefined if it is not among `databases`, or if it is unknown because the
   * tenant has no row.
   */
  readonly databaseOf: (tenant: TenantId) => Promise<string | undefined>;
  readonly scan: LedgerScan;
  readonly ledger: Pick<LedgerRows, 'chain'>;
  readonly details: DetailsTools;
  /**
   * @param item the transition's Ledger row
   * @throws if the row is unreadable
   */
  readonly rowsOfCopy: (chainId: ChainId, item: ReadRow['item']) => RowsOfCopy;
}

/** A payment or an order whose rows in PostgreSQL differ from its rows in the DynamoDB tables. */
export interface DifferentChain {
  readonly chainId: ChainId;
  /**
   * `differs`: a transition in PostgreSQL differs from the Ledger, is missing in the Ledger, or is in the wrong
   * database. `broken`: the chain in the Ledger does not verify. `details`: personal data does not match the commitment
   * in the chain. `tenant`: the tenant has no row, or its database was not given to the command. `unreadable`: this
   * version cannot read a row.
   */
  readonly because: 'differs' | 'broken' | 'details' | 'tenant' | 'unreadable';
  readonly database?: string;
}

const CHAIN_TABLES = ['transition', 'posting', 'details'] as const;

export interface ImportedInto {
  chains: number;
  /** One of these payments or orders. */
  example?: ChainId;
  readonly rows: Record<(typeof CHAIN_TABLES)[number], number>;
}

export interface ImportedChains {
  /** Number of payments and orders in the Ledger. */
  readonly read: number;
  readonly appended: number;
  readonly different: readonly DifferentChain[];
}

const MAX_KEPT = 10_000;
/**
 * Maximum number of transitions in one statement. A row of the Ledger has at most 400 KB, and a transaction of Aurora
 * DSQL at most 10 MiB (user guide, "Cluster quotas and database limits").
 */
const ROWS_AT_ONCE = 20;
const CHAINS_PER_PAGE = 500;

/**
 * Copies the transitions and the personal data that PostgreSQL lacks, each chain into the database of its tenant.
 * Recomputes the hash of each Ledger row, and compares the row with the transition that PostgreSQL returns. Safe to
 * repeat after an interruption, and while payments continue in DynamoDB, because a chain only grows.
 *
 * @param progress called after every page, with the number of payments and orders that were read. It may throw, which
 * stops the import
 * @returns the result, and the numbers of rows that each database must have, by the name of the database
 */
export async function importChains(
  tools: ImportChainsTools,
  segments: number,
  progress: (read: number) => Promise<void>,
): Promise<ImportedChains & { readonly into: ReadonlyMap<string, ImportedInto> }> {
  const counts = { read: 0, appended: 0 };
  const different: DifferentChain[] = [];
  const into = new Map(tools.databases.map(({ name }): [string, ImportedInto] => [name, nothing()]));
  const report = (each: DifferentChain): void => {
    if (different.length < MAX_KEPT) different.push(each);
  };
  const each = async (chainId: ChainId): Promise<void> => {
    counts.read += 1;
    try {
      const { appended, because, database, rows } = await importChain(tools, chainId);
      counts.appended += appended;
      if (because !== undefined) report({ chainId, because, ...defined({ database }) });
      const found = database === undefined ? undefined : into.get(database);
      if (found === undefined) return;
      found.chains += 1;
      found.example ??= chainId;
      for (const table of CHAIN_TABLES) found.rows[table] += rows?.[table] ?? 0;
    } catch (error) {
      // A fault from a store does not mean that the chain is unreadable.
      if (isFault(error)) throw error;
      report({ chainId, because: 'unreadable' });
    }
  };
  await scanAll(
    { step: (step) => tools.scan.chains(step), each, progress: async () => progress(counts.read) },
    Array.from({ length: segments }, () => ''),
  );
  for (const database of tools.databases) {
    const { chains } = into.get(database.name) ?? nothing();
    for (const chainId of await chainsBeyond(tools, database, chains, () => progress(counts.read)))
      report({ chainId, because: 'differs', database: database.name });
  }
  return { ...counts, different, into };
}

function nothing(): ImportedInto {
  return { chains: 0, rows: { transition: 0, posting: 0, details: 0 } };
}

/** Lists the payments and orders of a database that the Ledger lacks, or whose tenant is in another database. */
async function chainsBeyond(
  tools: ImportChainsTools,
  database: ImportDatabase,
  expected: number,
  progress: () => Promise<void>,
): Promise<readonly ChainId[]> {
  const text = 'SELECT count(*) AS chains FROM transition WHERE sequence = 1';
  const [row] = await readRows(database, { name: 'chain-count', text, values: [] });
  const found: ChainId[] = [];
  if (Number(row?.['chains']) <= expected) return found;
  for (let after = ''; ; ) {
    await progress();
    const ids = await listChainIds(database, { after, limit: CHAINS_PER_PAGE });
    for (const id of ids) {
      const [first] = (await tools.ledger.chain(partitionOfChain(id), undefined)).rows;
      if (first === undefined || !(await isPlaced(tools, database, id, first))) found.push(id);
    }
    after = ids.at(-1) ?? after;
    if (ids.length < CHAINS_PER_PAGE) return found;
  }
}

async function isPlaced(
  tools: ImportChainsTools,
  { name }: ImportDatabase,
  id: ChainId,
  { item }: ReadRow,
): Promise<boolean> {
  try {
    return (await tools.databaseOf(tenantOf(tools.rowsOfCopy(id, item)))) === name;
  } catch (error) {
    if (isFault(error)) throw error;
    // The scan of the Ledger has already reported this chain as unreadable.
    return true;
  }
}

function tenantOf({ transition }: RowsOfCopy): TenantId {
  return transition['tenant_id'] as TenantId;
}

interface ImportedChain extends Partial<Pick<DifferentChain, 'because' | 'database'>> {
  readonly appended: number;
  /** Absent if `because` is set. */
  readonly rows?: ImportedInto['rows'];
}

async function importChain(tools: ImportChainsTools, chainId: ChainId): Promise<ImportedChain> {
  const rows = await wholeChain(tools.ledger, partitionOfChain(chainId));
  const details = await readDetailsRows(tools.details, chainId);
  if (!isValid(rows)) return { appended: 0, because: 'broken' };
  const copies = rows.map(({ item }) => tools.rowsOfCopy(chainId, item));
  const parts = partsOf(copies);
  if (!areCommitted(parts, details)) return { appended: 0, because: 'details' };
  const wanted = [...details.values()].map((item) => {
    const found = newDetailsOfCopy(item);
    return { ...found, sequence: parts.get(String(found.part))?.sequence ?? 0 };
  });
  const name = copies[0] === undefined ? undefined : await tools.databaseOf(tenantOf(copies[0]));
  const own = tools.databases.find((each) => each.name === name);
  if (own === undefined) return { appended: 0, because: 'tenant' };
  const items = rows.map(({ item }) => item);
  return { ...(await copyChain(own, chainId, { items, copies, wanted })), database: own.name };
}

interface ChainToCopy {
  readonly items: readonly ReadRow['item'][];
  /** The rows of the Ledger, converted to PostgreSQL rows. */
  readonly copies: readonly RowsOfCopy[];
  readonly wanted: readonly PlacedDetails[];
}

async function copyChain(
  database: ImportDatabase,
  chainId: ChainId,
  { items, copies, wanted }: ChainToCopy,
): Promise<ImportedChain> {
  let appended = 0;
  return rounds<ImportedChain>('this chain', async () => {
    const own = await readOwn(database, chainId);
    const isSame = own.transitions.every((row, index) => {
      const item = items[index];
      return item !== undefined && isDeepStrictEqual(storedOfRow(row), storedOfCopy(item));
    });
    if (!isSame) return { appended, because: 'differs' };
    const missing = copies.slice(own.transitions.length);
    for (let from = 0; from < missing.length; from += ROWS_AT_ONCE) {
      const page = missing.slice(from, from + ROWS_AT_ONCE);
      const transitions = page.map(({ transition }) => transition);
      const postings = page.flatMap((copy) => copy.postings);
      const written = await writeIf(database, importStatement({ transitions, postings }));
      // If the transition exists, another import has appended it, so repeat. A posting must not exist without its
      // transition.
      if (written.kind === 'taken' && written.constraint !== 'transition_pkey') return { appended, because: 'differs' };
      if (written.kind !== 'applied') return 'again';
      appended += page.length;
    }
    const areSame = isDeepStrictEqual(byPart(own.details), byPart(wanted));
    const given = wanted.map(({ sequence, ...found }) => rowOfDetails(chainId, sequence, found));
    if (!areSame) await writeRows(database, detailsStatement(chainId, given));
    if (missing.length > 0 || !areSame) return 'again';
    const postings = copies.reduce((sum, copy) => sum + copy.postings.length, 0);
    return { appended, rows: { transition: copies.length, posting: postings, details: wanted.length } };
  });
}

function isValid(rows: readonly ReadRow[]): boolean {
  let before: Link | undefined;
  return rows.every(({ row }) => {
    const broken = violationAt(row, before);
    if (row.content.kind === 'link') before = row.content.link;
    // Ignore wrong attributes outside the hash, because only the Ledger's indexes use these attributes.
    return row.content.kind === 'link' && (broken === undefined || broken.what === 'attributes');
  });
}

interface Part {
  readonly commitment: Uint8Array;
  /**
   * Position of the first transition that refers to the personal data. Later transitions that refer to it repeat the
   * same commitment.
   */
  readonly sequence: number;
}

function partsOf(copies: readonly RowsOfCopy[]): ReadonlyMap<string, Part> {
  const parts = new Map<string, Part>();
  for (const { transition, commitments } of copies) {
    for (const { part, commitment } of commitments)
      if (!parts.has(part)) parts.set(part, { commitment, sequence: Number(transition['sequence']) });
  }
  return parts;
}

/** Data without a commitment, such as the reason of an approval, is accepted. */
function areCommitted(parts: ReadonlyMap<string, Part>, details: DetailsRows): boolean {
  return [...details].every(([part, item]) => {
    const { salt, details: data } = newDetailsOfCopy(item);
    const expected = parts.get(String(part))?.commitment;
    return expected === undefined || sameBytes(sealOf(systemDigest, data, salt).commitment, expected);
  });
}

interface PlacedDetails extends NewDetails {
  readonly sequence: number;
}

function byPart(rows: readonly PlacedDetails[]): ReadonlyMap<unknown, object> {
  return new Map(rows.map(({ salt, ...row }) => [row.part, { ...row, salt: hex(salt) }]));
}

async function readOwn(tools: PostgresTools, chainId: ChainId) {
  const rows = await readRows(tools, {
    name: 'chain-imported',
    text: `SELECT sequence, body::text, prev_hash, hash, NULL AS part, NULL::bytea AS salt, NULL::json AS details,
        NULL AS email_hash
      FROM transition WHERE chain_id = $1
      UNION ALL SELECT sequence, NULL, NULL, NULL, part, salt, details, email_hash FROM details WHERE chain_id = $1
      ORDER BY sequence`,
    values: [chainId],
  });
  const { transitions = [], details = [] } = Object.groupBy(rows, ({ part }) =>
    part === null ? 'transitions' : 'details',
  );
  const placed = details.map((row): PlacedDetails => {
    const values = valuesOf(row);
    return { ...newDetailsOf(values), sequence: Number(values['sequence']) };
  });
  return { transitions, details: placed };
}
