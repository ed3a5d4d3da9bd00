import { isDeepStrictEqual } from 'node:util';
import { violationAt } from '../archive/domain/chain-row.ts';
import { type LedgerRows, partitionOfChain, type ReadRow, wholeChain } from '../archive/use/ledger-rows.ts';
import { defined } from '../kernel/defined.ts';
import { sameBytes } from '../kernel/digest.ts';
import { isFault } from '../kernel/faults.ts';
import { hex, type Link } from '../kernel/hash-chain.ts';
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

interface ImportChainsTools extends PostgresTools {
  readonly scan: LedgerScan;
  readonly ledger: Pick<LedgerRows, 'chain'>;
  readonly details: DetailsTools;
  /**
   * Returns the PostgreSQL rows of a transition.
   * @param item the transition's Ledger row
   * @throws if the row is unreadable
   */
  readonly rowsOfCopy: (chainId: ChainId, item: ReadRow['item']) => RowsOfCopy;
}

/** A payment or an order whose rows in PostgreSQL differ from its rows in the DynamoDB tables. */
export interface DifferentChain {
  readonly chainId: ChainId;
  /**
   * `differs`: PostgreSQL has a different transition, or one that the Ledger lacks. `broken`: the chain in the Ledger
   * does not verify. `details`: personal data does not match the commitment in the chain. `unreadable`: this version
   * cannot read a row.
   */
  readonly because: 'differs' | 'broken' | 'details' | 'unreadable';
}

export interface ImportedChains {
  /** Number of payments and orders in the Ledger. */
  readonly read: number;
  /** Number of transitions that were copied. */
  readonly appended: number;
  readonly different: readonly DifferentChain[];
  /** One of the payments and orders. */
  readonly example?: ChainId;
}

/** Maximum number of ids to keep, more than an operator would read. */
const MAX_KEPT = 10_000;
/**
 * Maximum number of transitions in one statement. A row of the Ledger has at most 400 KB, and a transaction of Aurora
 * DSQL at most 10 MiB (user guide, "Cluster quotas and database limits").
 */
const ROWS_AT_ONCE = 20;
const CHAINS_PER_PAGE = 500;

/**
 * Copies the transitions and the personal data that PostgreSQL lacks. Compares each transition that PostgreSQL returns
 * with its row in the Ledger, and computes the hash of that row again. Safe to repeat after an interruption, and while
 * payments continue in DynamoDB, because a chain only grows.
 *
 * @param progress called after every page, with the number of payments and orders that were read. It may throw to stop
 */
export async function importChains(
  tools: ImportChainsTools,
  segments: number,
  progress: (read: number) => Promise<void>,
): Promise<ImportedChains> {
  const counts = { read: 0, appended: 0 };
  const different: DifferentChain[] = [];
  let example: ChainId | undefined;
  const report = (chainId: ChainId, because: DifferentChain['because']): void => {
    if (different.length < MAX_KEPT) different.push({ chainId, because });
  };
  const each = async (chainId: ChainId): Promise<void> => {
    counts.read += 1;
    example ??= chainId;
    try {
      const { appended, because } = await importChain(tools, chainId);
      counts.appended += appended;
      if (because !== undefined) report(chainId, because);
    } catch (error) {
      // A fault from a store proves nothing about the chain.
      if (isFault(error)) throw error;
      report(chainId, 'unreadable');
    }
  };
  await scanAll(
    { step: (step) => tools.scan.chains(step), each, progress: async () => progress(counts.read) },
    Array.from({ length: segments }, () => ''),
  );
  for (const chainId of await chainsBeyond(tools, counts.read, () => progress(counts.read))) report(chainId, 'differs');
  return { ...counts, different, ...defined({ example }) };
}

/**
 * Lists the payments and orders that only PostgreSQL has. Searches for them only if PostgreSQL has more than the
 * Ledger.
 */
async function chainsBeyond(
  tools: ImportChainsTools,
  inLedger: number,
  progress: () => Promise<void>,
): Promise<readonly ChainId[]> {
  const text = 'SELECT count(*) AS chains FROM transition WHERE sequence = 1';
  const [row] = await readRows(tools, { name: 'chain-count', text, values: [] });
  const found: ChainId[] = [];
  if (Number(row?.['chains']) <= inLedger) return found;
  for (let after = ''; ; ) {
    await progress();
    const ids = await listChainIds(tools, { after, limit: CHAINS_PER_PAGE });
    for (const id of ids)
      if ((await tools.ledger.chain(partitionOfChain(id), undefined)).rows.length === 0) found.push(id);
    after = ids.at(-1) ?? after;
    if (ids.length < CHAINS_PER_PAGE) return found;
  }
}

interface ImportedChain {
  readonly appended: number;
  readonly because?: DifferentChain['because'];
}

/** Copies the rows of a chain that PostgreSQL lacks, then reads and compares the whole chain. */
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
  let appended = 0;
  return rounds<ImportedChain>('this chain', async () => {
    const own = await readOwn(tools, chainId);
    const isSame = own.transitions.every((row, index) => {
      const item = rows[index]?.item;
      return item !== undefined && isDeepStrictEqual(storedOfRow(row), storedOfCopy(item));
    });
    if (!isSame) return { appended, because: 'differs' };
    const missing = copies.slice(own.transitions.length);
    for (let from = 0; from < missing.length; from += ROWS_AT_ONCE) {
      const page = missing.slice(from, from + ROWS_AT_ONCE);
      const transitions = page.map(({ transition }) => transition);
      const postings = page.flatMap((copy) => copy.postings);
      const written = await writeIf(tools, importStatement({ transitions, postings }));
      // If only the primary key of the transitions is violated, another import has appended. No other row of the chain
      // may exist without the chain's transitions.
      if (written.kind === 'taken' && written.constraint !== 'transition_pkey') return { appended, because: 'differs' };
      if (written.kind !== 'applied') return 'again';
      appended += page.length;
    }
    const areSame = isDeepStrictEqual(byPart(own.details), byPart(wanted));
    const given = wanted.map(({ sequence, ...found }) => rowOfDetails(chainId, sequence, found));
    if (!areSame) await writeRows(tools, detailsStatement(chainId, given));
    return missing.length > 0 || !areSame ? 'again' : { appended };
  });
}

function isValid(rows: readonly ReadRow[]): boolean {
  let before: Link | undefined;
  return rows.every(({ row }) => {
    const broken = violationAt(row, before);
    if (row.content.kind === 'link') before = row.content.link;
    // Attributes that the hash does not cover belong to the Ledger's indexes.
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

/**
 * Reports whether all personal data matches the commitments. The chain has no commitment to the reason of an approval.
 */
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

/** Reads the transitions of a chain, in order, and its personal data. */
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
