import type { Link } from '../../kernel/hash-chain.ts';
import { type BrokenLink, type ChainRow, violationAt } from './chain-row.ts';

export interface ChainLine extends ChainRow {
  /** Key of the S3 object that contains the line. */
  readonly object: string;
  /** Line number, from 0. */
  readonly line: number;
  /**
   * The sequence number in the Stream shard; absent when it is unknown. All lines of one row are from one shard, or
   * from consecutive shards.
   */
  readonly sequence?: string;
}

/** A line in the archive that reports that a row was changed or removed. */
export interface ChangeLine extends LinePlace {
  readonly chain: string;
  readonly sort: string;
  readonly change: 'MODIFY' | 'REMOVE';
  /** The digest of the row after the change; absent when the row was removed. */
  readonly digest?: string;
  readonly sequence?: string;
  /** Time of the change, in Unix milliseconds with a resolution of one second. */
  readonly atMs: number;
}

interface LinePlace {
  readonly object: string;
  readonly line: number;
}

/** `sequence` is the position in the chain at which the violation was found. */
export type ChainFinding = { readonly chain: string } & (
  | ({ readonly kind: 'chain_broken'; readonly sequence: number } & BrokenLink)
  | { readonly kind: 'row_missing'; readonly sort: string; readonly archived: LinePlace }
  | { readonly kind: 'row_differs'; readonly sort: string; readonly archived: LinePlace }
  | { readonly kind: 'not_archived'; readonly sort: string }
  /** A line reports that the row was changed or removed, and no later line reports that it was restored. */
  | {
      readonly kind: 'row_overwritten';
      readonly sort: string;
      readonly change: 'MODIFY' | 'REMOVE';
      readonly archived: LinePlace;
    }
  | { readonly kind: 'lines_differ'; readonly sort: string; readonly archived: LinePlace; readonly other: LinePlace }
);

export interface Bounds {
  /** Inclusive. */
  readonly fromMs: number;
  /** Exclusive. */
  readonly untilMs: number;
}

export const NO_BOUNDS: Bounds = { fromMs: 0, untilMs: Number.POSITIVE_INFINITY };

/**
 * Verifies one chain, whose rows and lines may be in any order. Reports the first violation in the chain, and each
 * difference between the Ledger and the archive.
 *
 * @param rows the Ledger's rows; undefined to verify only the archive, whose lines then form the chain
 * @param lines the archive's lines that contain rows; undefined when there is no archive
 * @param changes the archive's lines that report changed or removed rows; used only if `rows` is undefined
 */
export function judgeChain(
  chain: string,
  rows: readonly ChainRow[] | undefined,
  lines: readonly ChainLine[] | undefined,
  bounds: Bounds,
  changes: readonly ChangeLine[] = [],
): readonly ChainFinding[] {
  if (lines === undefined) return brokenChain(chain, rows ?? [], false);
  const archived = new Map<string, ChainLine>();
  const found: ChainFinding[] = [];
  for (const line of lines) {
    const { sort } = line;
    const earlier = archived.get(sort);
    if (earlier === undefined) archived.set(sort, line);
    else if (earlier.digest !== line.digest)
      found.push({ kind: 'lines_differ', chain, sort, archived: placeOf(earlier), other: placeOf(line) });
  }
  if (rows === undefined)
    return [
      ...brokenChain(chain, between(archived.values(), bounds), bounds.fromMs > 0),
      ...found,
      ...overwritten(chain, lines, changes),
    ];
  const kept = new Map(rows.map((row) => [row.sort, row]));
  for (const [sort, line] of archived) {
    const row = kept.get(sort);
    if (row === undefined) found.push({ kind: 'row_missing', chain, sort, archived: placeOf(line) });
    else if (row.digest !== line.digest) found.push({ kind: 'row_differs', chain, sort, archived: placeOf(line) });
  }
  for (const [sort, row] of kept)
    if (!archived.has(sort) && isWithin(row, bounds)) found.push({ kind: 'not_archived', chain, sort });
  return [...brokenChain(chain, rows, false), ...found];
}

/**
 * Reports each row that was changed or removed, unless its last change restored an archived content, or a later line
 * contains the row again.
 */
function overwritten(
  chain: string,
  lines: readonly ChainLine[],
  changes: readonly ChangeLine[],
): readonly ChainFinding[] {
  const found: ChainFinding[] = [];
  for (const sort of new Set(changes.map((change) => change.sort))) {
    const rows = lines.filter((line) => line.sort === sort);
    const [last] = changes.filter((change) => change.sort === sort).toSorted((one, other) => comparePlaces(other, one));
    if (last === undefined) continue;
    const isAsBefore = last.digest !== undefined && rows.some(({ digest }) => digest === last.digest);
    const isInsertedLater = rows.some((row) => comparePlaces(row, last) > 0);
    if (!isAsBefore && !isInsertedLater)
      found.push({ kind: 'row_overwritten', chain, sort, change: last.change, archived: placeOf(last) });
  }
  return found;
}

type Sequenced = { readonly sequence?: string };

/** Compares Stream sequence numbers, which are integers of up to 40 digits. */
function comparePlaces({ sequence: one = '0' }: Sequenced, { sequence: other = '0' }: Sequenced): number {
  return one.length - other.length || (one < other ? -1 : Number(one > other));
}

/** @param isPart whether `rows` may lack the first rows of the chain */
function brokenChain(chain: string, rows: readonly ChainRow[], isPart: boolean): readonly ChainFinding[] {
  const sorted = rows.toSorted((left, right) => (left.sort < right.sort ? -1 : 1));
  const [first] = sorted;
  let before: Link | undefined =
    isPart && first?.content.kind === 'link' ? predecessorOf(first.content.link) : undefined;
  for (const row of sorted) {
    const broken = violationAt(row, before);
    if (broken !== undefined)
      return [{ kind: 'chain_broken', chain, sequence: (before?.sequence ?? 0) + 1, ...broken }];
    if (row.content.kind === 'link') before = row.content.link;
  }
  return [];
}

/** `prevHash` is empty, because it is unknown. */
export function predecessorOf({ sequence, prevHash }: Link): Link {
  return { sequence: sequence - 1, prevHash: new Uint8Array(), hash: prevHash };
}

/**
 * Takes a contiguous part of the chain, even if times within it are outside the range: adjacent rows can have times
 * from different clocks, so times do not always ascend.
 */
function between(rows: Iterable<ChainRow>, { fromMs, untilMs }: Bounds): readonly ChainRow[] {
  const sorted = [...rows].toSorted((left, right) => (left.sort < right.sort ? -1 : 1));
  const begin = sorted.findIndex((row) => isWithin(row, { fromMs, untilMs: NO_BOUNDS.untilMs }));
  const end = sorted.findIndex((row) => !isWithin(row, { fromMs: NO_BOUNDS.fromMs, untilMs }));
  return begin === -1 ? [] : sorted.slice(begin, end === -1 ? undefined : end);
}

export function timeOf(rows: readonly ChainRow[]): Bounds {
  const times = rows.flatMap(({ content }) => (content.kind === 'link' ? [content.occurredAtMs] : []));
  if (times.length === 0) return NO_BOUNDS;
  return { fromMs: Math.min(...times), untilMs: NO_BOUNDS.untilMs };
}

/** A row without a readable time is within any bounds. */
export function isWithin({ content }: ChainRow, { fromMs, untilMs }: Bounds): boolean {
  return content.kind === 'unreadable' || (content.occurredAtMs >= fromMs && content.occurredAtMs < untilMs);
}

function placeOf({ object, line }: LinePlace): LinePlace {
  return { object, line };
}
