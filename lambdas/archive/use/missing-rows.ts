import type { Bounds } from '../domain/judge-chain.ts';
import { ARCHIVED_WITHIN_MS, firstHourMs } from './audit-archive.ts';
import { type LedgerRows, type ReadRow, wholeChain } from './ledger-rows.ts';
import type { VerifyManifestsTools } from './verify-manifests.ts';
import { type ArchiveLines, type RowParts, verifyRows } from './verify-rows.ts';

export interface MissingRows {
  /** Valid rows that are missing from the archive. */
  readonly rows: readonly ReadRow[];
  /** Broken chains, whose rows must not be added to the archive. */
  readonly broken: readonly string[];
}

/**
 * Returns the time range of the rows that a parked batch can contain. Rows that are copied from PostgreSQL can have any
 * earlier time since the beginning of the archive.
 *
 * @param batch the time range in which the batch was written to the Ledger
 * @param isCopied whether the Ledger is a copy of PostgreSQL
 */
export async function boundsOfBatch(
  tools: VerifyManifestsTools,
  { sinceMs, untilMs }: { readonly sinceMs: number; readonly untilMs: number },
  isCopied: boolean,
): Promise<Bounds> {
  const beginMs = isCopied ? await firstHourMs(tools) : undefined;
  return { fromMs: Math.min(sinceMs, beginMs ?? sinceMs), untilMs };
}

/**
 * Finds rows of a time range that are in the Ledger but not in the archive, because their batch was moved to the
 * dead-letter queue. Reads the complete Ledger, because a row of any kind can be missing.
 */
export async function missingRows(
  {
    archive,
    ledger,
    parts: partsOf,
  }: { readonly archive: ArchiveLines; readonly ledger: LedgerRows; readonly parts: () => RowParts },
  bounds: Bounds,
  nowMs: number,
): Promise<MissingRows> {
  const archivedUntilMs = nowMs - ARCHIVED_WITHIN_MS;
  const parts = partsOf();
  const { findings } = await verifyRows(
    { archive, ledger, parts, save: () => undefined },
    { bounds, archivedUntilMs },
  ).finally(() => parts.close());
  const missing = Map.groupBy(
    findings.filter((finding) => finding.kind === 'not_archived'),
    ({ chain }) => chain,
  );
  const broken = new Set(findings.flatMap((finding) => (finding.kind === 'chain_broken' ? [finding.chain] : [])));
  const rows: ReadRow[] = [];
  for (const [chain, found] of missing) {
    if (broken.has(chain)) continue;
    const sorts = new Set(found.map(({ sort }) => sort));
    rows.push(...(await wholeChain(ledger, chain)).filter(({ row }) => sorts.has(row.sort)));
  }
  return { rows, broken: [...missing.keys()].filter((chain) => broken.has(chain)) };
}
