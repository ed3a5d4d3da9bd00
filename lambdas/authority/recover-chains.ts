import { violationAt } from '../archive/domain/chain-row.ts';
import { type LedgerRows, partitionOfChain, type ReadRow, wholeChain } from '../archive/use/ledger-rows.ts';
import { sameBytes } from '../kernel/digest.ts';
import { isFault } from '../kernel/faults.ts';
import type { Link } from '../kernel/hash-chain.ts';
import { invariant } from '../kernel/invariant.ts';
import { systemDigest } from '../kernel/platform/platform.ts';
import { sealOf } from '../kernel/sealed-details.ts';
import { type DetailsRows, type DetailsTools, readDetailsRows } from '../once/store/details-rows.ts';
import { rounds } from '../once/use/rounds.ts';
import type { ChainId } from '../payments/ids.ts';
import type { CopiedChain } from '../payments/store/postgres-carrier.ts';
import { type ChainRows, newDetailsOfCopy, type RowsOfCopy, rowOfDetails } from '../payments/store/postgres-rows.ts';
import { appendStatement } from '../payments/store/postgres-statements.ts';
import { type PostgresTools, readRows, writeIf } from '../postgres/attempts.ts';
import type { LedgerScan } from '../views/use/ledger-scan.ts';
import { scanAll } from '../views/use/scan-all.ts';

interface RecoverChainsTools extends PostgresTools {
  readonly scan: LedgerScan;
  readonly ledger: Pick<LedgerRows, 'chain'>;
  readonly details: DetailsTools;
  readonly chains: readonly CopiedChain[];
}

export interface StoppedChain {
  readonly chainId: ChainId;
  readonly sequence: number;
  /**
   * `differs`: PostgreSQL and the Ledger have different transitions. `broken`: the row in the Ledger does not continue
   * the chain, so it was changed, or a row is missing.
   */
  readonly because: 'differs' | 'broken';
}

export interface RecoveredChains {
  readonly read: number;
  readonly recovered: number;
  readonly appended: number;
  readonly stopped: readonly StoppedChain[];
  /**
   * Payments and orders whose copied personal data no longer exists, because it was erased after the restored point in
   * time.
   */
  readonly erased: readonly ChainId[];
  /** Payments and orders that this code cannot read. */
  readonly unreadable: readonly ChainId[];
}

const MAX_KEPT = 10_000;
/**
 * Maximum number of transitions in one statement. A row of the Ledger has at most 400 KB, and a transaction of Aurora
 * DSQL at most 10 MiB (user guide, "Cluster quotas and database limits").
 */
const ROWS_AT_ONCE = 20;

/**
 * Appends the transitions that only the Ledger has, after PostgreSQL was restored to an earlier time. Transitions were
 * copied to the Ledger after their commits, so the Ledger is newer than the restored database:
 *
 *   PostgreSQL ── T1 ✓ ── backup ── T2 ✓ ── copy ✓ ── lost ── restored: T1 ── recovered: T1, T2
 *   Ledger     ── T1 ──────────────────── T2 ───────────────────────────────────────────────────
 *
 * The Ledger is only read. A chain that continued after the restore differs from the Ledger. It is reported and not
 * changed:
 *
 *   PostgreSQL ── restored: T1 ── T2' ✓ ── copy: stopped
 *   Ledger     ── T1 ── T2 ─────────────────────────────
 *
 * Safe to repeat, even after an interruption.
 *
 * @param progress called after every page, with the number of chains that were read
 */
export async function recoverChains(
  tools: RecoverChainsTools,
  segments: number,
  progress: (read: number) => void,
): Promise<RecoveredChains> {
  const counts = { read: 0, recovered: 0, appended: 0 };
  const stopped: StoppedChain[] = [];
  const erased: ChainId[] = [];
  const unreadable: ChainId[] = [];
  const keep = <Kept>(kept: Kept[], one: Kept): unknown => kept.length < MAX_KEPT && kept.push(one);
  const each = async (chainId: ChainId): Promise<void> => {
    counts.read += 1;
    try {
      const found = await recoverChain(tools, chainId);
      counts.recovered += Number(found.appended > 0);
      counts.appended += found.appended;
      if (found.stopped !== undefined) keep(stopped, { chainId, ...found.stopped });
      if (found.isErased) keep(erased, chainId);
    } catch (error) {
      // A fault from the store does not mean that the chain is unreadable.
      if (isFault(error)) throw error;
      keep(unreadable, chainId);
    }
  };
  await scanAll(
    { step: (step) => tools.scan.chains(step), each, progress: async () => progress(counts.read) },
    Array.from({ length: segments }, () => ''),
  );
  return { ...counts, stopped, erased, unreadable };
}

interface Recovery {
  readonly appended: number;
  readonly stopped: Omit<StoppedChain, 'chainId'> | undefined;
  readonly isErased: boolean;
}

function recoverChain(tools: RecoverChainsTools, chainId: ChainId): Promise<Recovery> {
  let before: number | undefined;
  return rounds<Recovery>('this chain', async () => {
    const own = await ownRows(tools, chainId);
    before ??= own.hashes.length;
    const rows = await wholeChain(tools.ledger, partitionOfChain(chainId));
    const { kept, stopped } = compared(rows, own.hashes);
    const missing = rows.slice(own.hashes.length, kept);
    const isCopied = own.parts.some(({ sequence }) => sequence <= kept);
    const details: DetailsRows =
      missing.length > 0 || isCopied ? await readDetailsRows(tools.details, chainId) : new Map();
    const isErased = own.parts.some(({ part, sequence }) => sequence <= kept && !details.has(part));
    const known = rows.slice(0, own.hashes.length);
    if (!(await append(tools, chainId, { known, missing, details }))) return 'again';
    // An earlier round may have appended rows: a part of a long chain, or a write whose response was lost.
    return { appended: Math.max(0, kept - before), stopped, isErased };
  });
}

async function ownRows(tools: PostgresTools, chainId: ChainId) {
  const rows = await readRows(tools, {
    name: 'chain-hashes',
    text: `SELECT sequence, hash, NULL AS part FROM transition WHERE chain_id = $1
      UNION ALL SELECT sequence, NULL, part FROM details WHERE chain_id = $1 AND sequence > 0 ORDER BY sequence`,
    values: [chainId],
  });
  const { links = [], parts = [] } = Object.groupBy(rows, ({ part }) => (part === null ? 'links' : 'parts'));
  return {
    hashes: links.map(({ hash }) => hash as Uint8Array),
    parts: parts.map(({ part, sequence }) => ({ part: String(part), sequence: Number(sequence) })),
  };
}

/** Returns how many rows of the Ledger are in PostgreSQL or can be appended, and why the next one cannot. */
function compared(rows: readonly ReadRow[], hashes: readonly Uint8Array[]) {
  let before: Link | undefined;
  for (const [kept, { row }] of rows.entries()) {
    const sequence = kept + 1;
    const broken = violationAt(row, before);
    // Ignore wrong attributes outside the hash: PostgreSQL does not have these attributes.
    if (row.content.kind !== 'link' || (broken !== undefined && broken.what !== 'attributes'))
      return { kept, stopped: { sequence, because: 'broken' as const } };
    const { link } = row.content;
    const own = hashes[kept];
    if (own !== undefined && !sameBytes(own, link.hash))
      return { kept, stopped: { sequence, because: 'differs' as const } };
    before = link;
  }
  return { kept: rows.length, stopped: undefined };
}

interface Missing {
  readonly known: readonly ReadRow[];
  readonly missing: readonly ReadRow[];
  readonly details: DetailsRows;
}

/**
 * Also adds rows to the outbox; the carrier then finds that the copies exist.
 *
 * @returns false if a rival has appended
 */
async function append(tools: RecoverChainsTools, chainId: ChainId, { known, missing, details }: Missing) {
  const chain = tools.chains.find(({ owns }) => owns(chainId));
  invariant(chain !== undefined, `${chainId} is the id of neither a payment nor an order`);
  if (missing.length === 0) return true;
  // Personal data belongs to the first transition that refers to it. Later transitions only repeat the commitment.
  const parts = new Set(known.flatMap(({ item }) => chain.rowsOfCopy(item).commitments.map(({ part }) => part)));
  for (let from = 0; from < missing.length; from += ROWS_AT_ONCE) {
    const copies = missing.slice(from, from + ROWS_AT_ONCE).map(({ item }) => chain.rowsOfCopy(item));
    const rows: ChainRows = {
      transitions: copies.map(({ transition }) => transition),
      postings: copies.flatMap(({ postings }) => postings),
      details: copies.flatMap((copy) => newDetails(chainId, copy, parts, details)),
    };
    const nowMs = tools.pacing.clock.nowMs();
    if ((await writeIf(tools, appendStatement({ rows, nowMs }))).kind !== 'applied') return false;
  }
  return true;
}

function newDetails(
  chainId: ChainId,
  { transition, commitments }: RowsOfCopy,
  parts: Set<string>,
  details: DetailsRows,
): ChainRows['details'] {
  return commitments.flatMap(({ part, commitment }) => {
    const item = parts.has(part) ? undefined : details.get(part);
    parts.add(part);
    if (item === undefined) return [];
    const found = newDetailsOfCopy(item);
    const isUnchanged = sameBytes(sealOf(systemDigest, found.details, found.salt).commitment, commitment);
    invariant(isUnchanged, `the details of ${chainId} do not match the commitment in its chain`);
    return [rowOfDetails(chainId, Number(transition['sequence']), found)];
  });
}
