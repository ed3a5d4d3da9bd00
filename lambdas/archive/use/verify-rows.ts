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

/** A line that holds no row. */
interface LineFinding {
  readonly kind: 'line_unreadable';
  readonly object: string;
  readonly line: number;
  readonly because: string;
}

export type RowFinding =
  | Exclude<ChainFinding, { readonly kind: 'row_differs' }>
  /** With the fields that differ, for example `payment.amountMinor`. */
  | (Extract<ChainFinding, { readonly kind: 'row_differs' }> & { readonly fields: readonly string[] })
  | LineFinding;

export interface LinePage {
  readonly lines: readonly ChainLine[];
  readonly changes: readonly ChangeLine[];
  readonly unreadable: readonly LineFinding[];
  /** Where the next page begins; absent after the last. */
  readonly next?: string;
}

/** The lines of the archive. */
export interface ArchiveLines {
  /** The lines of one object, or of a few. @param bounds objects that hold no rows of this time may be left out */
  page(after: string | undefined, bounds: Bounds): Promise<LinePage>;
  /** All attributes of the row of one line. */
  item(place: {
    readonly object: string;
    readonly line: number;
  }): Promise<Readonly<Record<string, unknown>> | undefined>;
}

/** All that was kept of one chain. */
export interface KeptChain {
  readonly chain: string;
  readonly rows: readonly ChainRow[];
  readonly lines: readonly ChainLine[];
  readonly changes: readonly ChangeLine[];
}

/**
 * Brings rows that are read in any order together by chain, with bounded memory. A row that is added again counts once, so an
 * interrupted reading can begin a page again.
 */
export interface RowParts {
  /** How many parts the chains are spread over. */
  readonly parts: number;
  addRow(row: ChainRow): void;
  addLine(line: ChainLine): void;
  addChange(change: ChangeLine): void;
  /** What was added until now survives a crash. */
  save(): void;
  /** The chains of one part. */
  chainsOf(part: number): Iterable<KeptChain>;
  /** Deletes all that was kept. */
  close(): void;
}

interface RowCounts {
  readonly lines: number;
  readonly rows: number;
  readonly chains: number;
}

/** How far a verification has come. It is JSON, so that an interrupted one goes on. */
export interface RowsState {
  /** `ledger` and `archive` read; `compare` judges one part after the other. */
  readonly phase: 'archive' | 'ledger' | 'compare' | 'done';
  /** Where the phase goes on. @default at its beginning */
  readonly after?: string;
  readonly counts: RowCounts;
  readonly findings: readonly RowFinding[];
  /** Rows that somebody changed, removed or put back, as the Stream told it. They are no findings by themselves. */
  readonly changes: readonly ChangeLine[];
  /** Findings that are not in the list, because it is full. */
  readonly further: number;
  /** That of the request with which it began: the archive is not read again when it goes on. Unix milliseconds. */
  readonly archivedUntilMs?: number;
}

export const ROWS_BEGIN: RowsState = {
  phase: 'archive',
  counts: { lines: 0, rows: 0, chains: 0 },
  findings: [],
  changes: [],
  further: 0,
};

/** So many findings are listed. A lost table has one for each row. */
const MOST_LISTED = 10_000;

export interface VerifyRowsTools {
  /** Absent: there is no archive, and only the chains of the Ledger are verified. */
  readonly archive?: ArchiveLines | undefined;
  /** Absent: only the archive is verified, and its lines are the chains. */
  readonly ledger?: LedgerRows | undefined;
  readonly parts: RowParts;
  /** Called after each page, and after each part that was compared. What was kept before it need not be read again. */
  readonly save: (state: RowsState) => Promise<void> | void;
}

export interface VerifyRowsRequest {
  readonly bounds: Bounds;
  /** Rows before this time must be in the archive. Younger ones may still be on their way. Unix milliseconds. @default all rows */
  readonly archivedUntilMs?: number;
  /** Only this chain. */
  readonly chain?: string | undefined;
}

/**
 * Compares all rows with the archive in both directions, and checks the chain of each payment, order and activity log. Rows are read
 * page by page and brought together by chain outside of memory. What differs is read again, strongly consistent, before it is
 * reported, so rows that are written meanwhile are no findings.
 *
 * @param state where an interrupted verification stopped @default the beginning
 */
export async function verifyRows(
  tools: VerifyRowsTools,
  given: VerifyRowsRequest,
  state: RowsState = ROWS_BEGIN,
): Promise<RowsState> {
  const archivedUntilMs = state.archivedUntilMs ?? given.archivedUntilMs;
  const expected = archivedUntilMs === undefined ? {} : { archivedUntilMs };
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
  if (tools.archive === undefined) return goOn(state, undefined, 'ledger');
  const { lines, changes: all, unreadable, next } = await tools.archive.page(state.after, bounds);
  // Without the Ledger, the lines are the chains: a row of another time can be between two of this time.
  const isWanted = (line: ChainLine) => tools.ledger === undefined || isWithin(line, bounds);
  const wanted = lines.filter((line) => isWanted(line) && (chain === undefined || line.chain === chain));
  for (const line of wanted) tools.parts.addLine(line);
  const changes = all.filter((change) => chain === undefined || change.chain === chain);
  for (const change of changes) tools.parts.addChange(change);
  const counted = { ...state.counts, lines: state.counts.lines + wanted.length };
  return goOn(
    withFindings(
      { ...state, counts: counted, changes: [...state.changes, ...changes].slice(0, MOST_LISTED) },
      unreadable,
    ),
    next,
    tools.ledger === undefined ? 'compare' : 'ledger',
  );
}

async function readRows({ ledger, parts }: VerifyRowsTools, { chain }: VerifyRowsRequest, state: RowsState) {
  if (ledger === undefined) return goOn(state, undefined, 'compare');
  const { rows, next } = await (chain === undefined ? ledger.page(state.after) : ledger.chain(chain, state.after));
  for (const { row } of rows) parts.addRow(row);
  const counts = { ...state.counts, rows: state.counts.rows + rows.length };
  return goOn({ ...state, counts }, next, 'compare');
}

async function comparePart(tools: VerifyRowsTools, request: VerifyRowsRequest, state: RowsState) {
  const part = Number(state.after ?? 0);
  let compared = state;
  for (const kept of tools.parts.chainsOf(part)) {
    const counts = { ...compared.counts, chains: compared.counts.chains + 1 };
    compared = withFindings({ ...compared, counts }, await compareChain(tools, request, kept));
  }
  return goOn(compared, part + 1 < tools.parts.parts ? String(part + 1) : undefined, 'done');
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
  const told: RowFinding[] = [];
  for (const finding of found) {
    if (finding.kind !== 'row_differs') {
      told.push(finding);
      continue;
    }
    const kept = now.find(({ row }) => row.sort === finding.sort)?.item;
    told.push({ ...finding, fields: differingPaths(kept, await archive?.item(finding.archived)) });
  }
  return told;
}

function withFindings(state: RowsState, found: readonly RowFinding[]): RowsState {
  if (found.length === 0) return state;
  const room = MOST_LISTED - state.findings.length;
  const listed = found.slice(0, Math.max(0, room));
  return {
    ...state,
    findings: [...state.findings, ...listed],
    further: state.further + found.length - listed.length,
  };
}

function goOn(
  { after: _done, ...state }: RowsState,
  next: string | undefined,
  following: RowsState['phase'],
): RowsState {
  return next === undefined ? { ...state, phase: following } : { ...state, after: next };
}
