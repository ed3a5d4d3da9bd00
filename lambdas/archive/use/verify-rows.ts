import { defined } from '../../kernel/defined.ts';
import type { ChainRow } from '../domain/chain-row.ts';
import {
  type Bounds,
  type ChainFinding,
  type ChainLine,
  type ChangeLine,
  isWithin,
  judgeChain,
} from '../domain/judge-chain.ts';
import { differingPaths } from '../domain/row-text.ts';
import { type LedgerRows, type ReadRow, wholeChain } from './ledger-rows.ts';

interface LineFinding {
  readonly kind: 'line_unreadable';
  readonly object: string;
  readonly line: number;
  readonly because: string;
}

export type RowFinding =
  | Exclude<ChainFinding, { readonly kind: 'row_differs' }>
  /** `fields` names the fields that differ, for example `payment.amountMinor`. */
  | (Extract<ChainFinding, { readonly kind: 'row_differs' }> & { readonly fields: readonly string[] })
  | LineFinding;

export interface LinePage {
  readonly lines: readonly ChainLine[];
  readonly changes: readonly ChangeLine[];
  readonly unreadable: readonly LineFinding[];
  /** Absent on the last page. */
  readonly next?: string;
}

export interface ArchiveLines {
  /** @param bounds objects without rows of this time range may be skipped */
  page(after: string | undefined, bounds: Bounds): Promise<LinePage>;
  /** Reads all attributes of the row that a line contains. */
  item(place: {
    readonly object: string;
    readonly line: number;
  }): Promise<Readonly<Record<string, unknown>> | undefined>;
}

export interface KeptChain {
  readonly chain: string;
  readonly rows: readonly ChainRow[];
  readonly lines: readonly ChainLine[];
  readonly changes: readonly ChangeLine[];
}

/**
 * Groups rows by chain, in bounded memory. Rows may be added in any order. Adding a row a second time has no effect, so
 * an interrupted read may repeat a page.
 */
export interface RowParts {
  readonly parts: number;
  addRow(row: ChainRow): void;
  addLine(line: ChainLine): void;
  addChange(change: ChangeLine): void;
  /** Persists everything that was added so far, so that it survives a crash. */
  save(): void;
  chainsOf(part: number): Iterable<KeptChain>;
  /** Deletes all stored rows. */
  close(): void;
}

interface RowCounts {
  readonly lines: number;
  readonly rows: number;
  readonly chains: number;
}

/** Serializable as JSON, so that an interrupted verification can resume. */
export interface RowsState {
  readonly phase: 'archive' | 'ledger' | 'compare' | 'done';
  /** The position from which the phase continues. @default the beginning of the phase */
  readonly after?: string;
  readonly counts: RowCounts;
  readonly findings: readonly RowFinding[];
  /** Rows that were changed, removed or restored, as reported by the Stream. Not findings in themselves. */
  readonly changes: readonly ChangeLine[];
  /** Number of findings beyond `MAX_LISTED`. */
  readonly further: number;
  /**
   * The value of `archivedUntilMs` in the original request, in Unix milliseconds. Kept because a resumed verification
   * does not read the archive again.
   */
  readonly archivedUntilMs?: number;
}

export const ROWS_BEGIN: RowsState = {
  phase: 'archive',
  counts: { lines: 0, rows: 0, chains: 0 },
  findings: [],
  changes: [],
  further: 0,
};

/** Maximum number of listed findings. A lost table would yield one finding for each row. */
const MAX_LISTED = 10_000;

export interface VerifyRowsTools {
  /** If absent, only the chains of the Ledger are verified. */
  readonly archive?: ArchiveLines | undefined;
  /** If absent, only the archive is verified, and its lines form the chains. */
  readonly ledger?: LedgerRows | undefined;
  readonly parts: RowParts;
  /**
   * Called after each page and after each compared part. The rows read so far are then stored, so a resumed
   * verification skips them.
   */
  readonly save: (state: RowsState) => Promise<void> | void;
}

export interface VerifyRowsRequest {
  readonly bounds: Bounds;
  /**
   * Rows that were written before this time, in Unix milliseconds, must be in the archive. Later rows may not have
   * arrived yet.
   * @default all rows
   */
  readonly archivedUntilMs?: number;
  /** Verifies only this chain. */
  readonly chain?: string | undefined;
}

/**
 * Compares the Ledger with the archive in both directions, and checks the chain of each payment, order and activity
 * log. Before a difference is reported, its chain is read again from the Ledger, with strong consistency. Rows that
 * were written during the verification are therefore not reported.
 */
export async function verifyRows(
  tools: VerifyRowsTools,
  given: VerifyRowsRequest,
  state: RowsState = ROWS_BEGIN,
): Promise<RowsState> {
  const archivedUntilMs = state.archivedUntilMs ?? given.archivedUntilMs;
  const expected = defined({ archivedUntilMs });
  const request = { ...given, ...expected };
  let current: RowsState = { ...state, ...expected };
  while (current.phase !== 'done') {
    current = await STEPS[current.phase](tools, request, current);
    tools.parts.save();
    await tools.save(current);
  }
  return current;
}

type Step = (tools: VerifyRowsTools, request: VerifyRowsRequest, state: RowsState) => Promise<RowsState>;

const STEPS: Readonly<Record<Exclude<RowsState['phase'], 'done'>, Step>> = {
  archive: readLines,
  ledger: readRows,
  compare: comparePart,
};

async function readLines(tools: VerifyRowsTools, { bounds, chain }: VerifyRowsRequest, state: RowsState) {
  if (tools.archive === undefined) return advance(state, undefined, 'ledger');
  const { lines, changes: all, unreadable, next } = await tools.archive.page(state.after, bounds);
  // Without the Ledger, the lines form the chains. All lines are kept, because a row outside the time range can be
  // between two rows inside it.
  const isWanted = (line: ChainLine) => tools.ledger === undefined || isWithin(line, bounds);
  const wanted = lines.filter((line) => isWanted(line) && (chain === undefined || line.chain === chain));
  for (const line of wanted) tools.parts.addLine(line);
  const changes = all.filter((change) => chain === undefined || change.chain === chain);
  for (const change of changes) tools.parts.addChange(change);
  const counted = { ...state.counts, lines: state.counts.lines + wanted.length };
  return advance(
    withFindings(
      { ...state, counts: counted, changes: [...state.changes, ...changes].slice(0, MAX_LISTED) },
      unreadable,
    ),
    next,
    tools.ledger === undefined ? 'compare' : 'ledger',
  );
}

async function readRows({ ledger, parts }: VerifyRowsTools, { chain }: VerifyRowsRequest, state: RowsState) {
  if (ledger === undefined) return advance(state, undefined, 'compare');
  const { rows, next } = await (chain === undefined ? ledger.page(state.after) : ledger.chain(chain, state.after));
  for (const { row } of rows) parts.addRow(row);
  const counts = { ...state.counts, rows: state.counts.rows + rows.length };
  return advance({ ...state, counts }, next, 'compare');
}

async function comparePart(tools: VerifyRowsTools, request: VerifyRowsRequest, state: RowsState) {
  const part = Number(state.after ?? 0);
  let compared = state;
  for (const kept of tools.parts.chainsOf(part)) {
    const counts = { ...compared.counts, chains: compared.counts.chains + 1 };
    compared = withFindings({ ...compared, counts }, await compareChain(tools, request, kept));
  }
  return advance(compared, part + 1 < tools.parts.parts ? String(part + 1) : undefined, 'done');
}

async function compareChain(
  { ledger, archive }: VerifyRowsTools,
  { bounds: given, archivedUntilMs = given.untilMs }: VerifyRowsRequest,
  { chain, rows, lines, changes }: KeptChain,
): Promise<readonly RowFinding[]> {
  const bounds = { ...given, untilMs: Math.min(given.untilMs, archivedUntilMs) };
  const archived = archive === undefined ? undefined : lines;
  const found = judgeChain(chain, ledger === undefined ? undefined : rows, archived, bounds, changes);
  if (found.length === 0) return [];
  if (ledger === undefined) return detailed(archive, found, []);
  const now = await wholeChain(ledger, chain);
  const still = judgeChain(
    chain,
    now.map(({ row }) => row),
    archived,
    bounds,
  );
  return detailed(archive, still, now);
}

async function detailed(
  archive: ArchiveLines | undefined,
  found: readonly ChainFinding[],
  now: readonly ReadRow[],
): Promise<readonly RowFinding[]> {
  const differing: RowFinding[] = [];
  for (const finding of found) {
    if (finding.kind !== 'row_differs') {
      differing.push(finding);
      continue;
    }
    const kept = now.find(({ row }) => row.sort === finding.sort)?.item;
    differing.push({ ...finding, fields: differingPaths(kept, await archive?.item(finding.archived)) });
  }
  return differing;
}

function withFindings(state: RowsState, found: readonly RowFinding[]): RowsState {
  if (found.length === 0) return state;
  const room = MAX_LISTED - state.findings.length;
  const listed = found.slice(0, Math.max(0, room));
  return {
    ...state,
    findings: [...state.findings, ...listed],
    further: state.further + found.length - listed.length,
  };
}

function advance(
  { after: _done, ...state }: RowsState,
  next: string | undefined,
  following: RowsState['phase'],
): RowsState {
  return next === undefined ? { ...state, phase: following } : { ...state, after: next };
}
