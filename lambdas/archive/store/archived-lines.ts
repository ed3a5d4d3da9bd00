import { defined } from '../../kernel/defined.ts';
import { hex } from '../../kernel/hash-chain.ts';
import { systemDigest } from '../../kernel/platform/platform.ts';
import { LINES_NAME, LINES_PREFIX } from '../domain/archive-object.ts';
import type { Bounds, ChainLine, ChangeLine } from '../domain/judge-chain.ts';
import { beginOf, continueAfter, isOfTime } from '../domain/object-times.ts';
import type { LedgerRows, ReadRow } from '../use/ledger-rows.ts';
import type { StoredObjects } from '../use/stored-objects.ts';
import type { ArchiveLines, LinePage } from '../use/verify-rows.ts';
import { readChainRow, reasonOf } from './read-chain-row.ts';
import { archivedItem, readLine } from './read-line.ts';

/** Number of objects that are read, and kept in memory, concurrently. Each is at most 6 MB. */
const AT_ONCE = 4;
type ReadLine =
  | { readonly kind: 'row'; readonly line: ChainLine; readonly item: Readonly<Record<string, unknown>> }
  | { readonly kind: 'change'; readonly line: ChangeLine }
  | { readonly kind: 'unreadable'; readonly because: string };

interface ArchivedRow {
  readonly line: ChainLine;
  readonly item: Readonly<Record<string, unknown>>;
}

interface ArchivedPage<Kept> {
  readonly kept: readonly Kept[];
  readonly changes: readonly ChangeLine[];
  readonly unreadable: LinePage['unreadable'];
  /** Start of the next page; absent after the last page. */
  readonly next?: string;
}

export function archivedLines(objects: StoredObjects): ArchiveLines {
  return {
    page: async (after, bounds) => {
      const { kept: lines, ...others } = await readPage(objects, after, bounds, ({ line }) => [line]);
      return { ...others, lines };
    },
    item: async ({ object, line }) => {
      const text = (await objects.text(object))?.split('\n')[line];
      const read = text === undefined ? undefined : parsed(text, object, line);
      return read?.kind === 'row' ? read.item : undefined;
    },
  };
}

/**
 * Yields, page by page, the contents of all objects that can contain rows from the time range.
 * @param keep returns the values to keep in memory for a row; an empty list to skip the row
 */
export async function* archivedPages<Kept>(
  objects: StoredObjects,
  bounds: Bounds,
  keep: (row: ArchivedRow) => readonly Kept[],
): AsyncGenerator<ArchivedPage<Kept>> {
  let after: string | undefined;
  do {
    const page = await readPage(objects, after, bounds, keep);
    yield page;
    after = page.next;
  } while (after !== undefined);
}

/** Skips unreadable lines. If several lines contain a row, returns the first. */
export function archivedRows(objects: StoredObjects, bounds: Bounds): Pick<LedgerRows, 'chain'> {
  return {
    chain: async (chain) => {
      const found = new Map<string, ReadRow>();
      for await (const { kept } of archivedPages(objects, bounds, (row) => (row.line.chain === chain ? [row] : [])))
        for (const { line, item } of kept) if (!found.has(line.sort)) found.set(line.sort, { row: line, item });
      return { rows: [...found.values()].toSorted((one, other) => (one.row.sort < other.row.sort ? -1 : 1)) };
    },
  };
}

async function readPage<Kept>(
  objects: StoredObjects,
  after: string | undefined,
  bounds: Bounds,
  keep: (row: ArchivedRow) => readonly Kept[],
): Promise<ArchivedPage<Kept>> {
  const names = await objects.names(LINES_PREFIX, after ?? beginOf(bounds), AT_ONCE);
  const read = await Promise.all(
    names.filter((name) => isOfTime(name, bounds)).map((name) => readObject(objects, name, keep)),
  );
  const next = continueAfter(names.length < AT_ONCE ? undefined : names.at(-1), bounds);
  const page = {
    kept: read.flatMap(({ kept }) => kept),
    changes: read.flatMap(({ changes }) => changes),
    unreadable: read.flatMap(({ unreadable }) => unreadable),
  };
  return next === undefined ? page : { ...page, next };
}

async function readObject<Kept>(
  objects: StoredObjects,
  object: string,
  keep: (row: ArchivedRow) => readonly Kept[],
): Promise<ArchivedPage<Kept>> {
  const text = await objects.text(object);
  const bad = (line: number, because: string) => ({ kind: 'line_unreadable' as const, object, line, because });
  const unread = (because: string) => ({ kept: [], changes: [], unreadable: [bad(0, because)] });
  if (text === undefined) return unread('the object was removed');
  const { sha256 } = LINES_NAME.exec(object)?.groups ?? {};
  if (hex(systemDigest.sha256(text)) !== sha256) return unread('the content does not match the digest in the key');
  const kept: Kept[] = [];
  const changes: ChangeLine[] = [];
  const unreadable: ReturnType<typeof bad>[] = [];
  // Parse line by line, because an object's parsed rows take much more memory than its text.
  for (const [line, each] of text.split('\n').slice(0, -1).entries()) {
    const of = parsed(each, object, line);
    if (of.kind === 'row') kept.push(...keep(of));
    if (of.kind === 'change') changes.push(of.line);
    if (of.kind === 'unreadable') unreadable.push(bad(line, of.because));
  }
  return { kept, changes, unreadable };
}

function parsed(text: string, object: string, line: number): ReadLine {
  try {
    const read = readLine(text);
    const sequence = defined({ sequence: read.sequence });
    if (read.change === 'INSERT') {
      const item = archivedItem(read.item);
      return { kind: 'row', line: { ...readChainRow(item), object, line, ...sequence }, item };
    }
    const { change, atMs } = read;
    const { chain, sort } = readChainRow(archivedItem(read.was));
    const after = read.change === 'MODIFY' ? { digest: readChainRow(archivedItem(read.item)).digest } : {};
    return { kind: 'change', line: { chain, sort, change, atMs, object, line, ...sequence, ...after } };
  } catch (error) {
    return { kind: 'unreadable', because: reasonOf(error) };
  }
}
