import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ChainRow } from '../domain/chain-row.ts';
import type { ChainLine, ChangeLine } from '../domain/judge-chain.ts';
import type { KeptChain, RowParts } from '../use/verify-rows.ts';

/**
 * Number of parts, each with one file for each `Side`. Only one part at a time is in memory: a few megabytes per million
 * rows.
 */
const PARTS = 256;
/** Size, in characters, at which a buffer is appended to its file. All buffers together take at most 24 MB. */
const BUFFER = 32 * 1024;

type Side = 'rows' | 'lines' | 'changes';

interface Collected extends Pick<KeptChain, 'chain'> {
  readonly rows: Map<string, ChainRow>;
  readonly lines: ChainLine[];
  readonly changes: ChangeLine[];
}

/**
 * Stores rows, lines and changes in files that only the current user can read. A hash of the chain selects the file.
 */
export class RowFiles implements RowParts {
  readonly parts: number;
  readonly #directory: string;
  readonly #buffers = new Map<string, { readonly records: string[]; size: number }>();

  /**
   * @param directory created if missing; existing files are appended to
   * @param parts at most 256
   */
  constructor(directory: string, parts = PARTS) {
    this.parts = parts;
    this.#directory = directory;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  }

  addRow(row: ChainRow): void {
    this.#add('rows', row);
  }

  addLine(line: ChainLine): void {
    this.#add('lines', line);
  }

  addChange(change: ChangeLine): void {
    this.#add('changes', change);
  }

  #add(side: Side, row: ChainRow | ChainLine | ChangeLine): void {
    const name = nameOf(side, createHash('sha256').update(row.chain).digest().readUInt8(0) % this.parts);
    const record = `${JSON.stringify(row, bytesAsText)}\n`;
    const buffer = this.#buffers.get(name) ?? { records: [], size: 0 };
    this.#buffers.set(name, buffer);
    buffer.records.push(record);
    buffer.size += record.length;
    if (buffer.size > BUFFER) this.#write(name);
  }

  #write(name: string): void {
    const { records } = this.#buffers.get(name) ?? { records: [] };
    // The leading line break terminates a record that a crash truncated.
    appendFileSync(join(this.#directory, name), `\n${records.join('')}`, { mode: 0o600 });
    this.#buffers.delete(name);
  }

  save(): void {
    for (const name of this.#buffers.keys()) this.#write(name);
  }

  *chainsOf(part: number): Generator<KeptChain> {
    this.save();
    const chains = new Map<string, Collected>();
    const chainOf = (chain: string) => {
      const kept = chains.get(chain) ?? { chain, rows: new Map<string, ChainRow>(), lines: [], changes: [] };
      chains.set(chain, kept);
      return kept;
    };
    for (const row of this.#read<ChainRow>(nameOf('rows', part))) chainOf(row.chain).rows.set(row.sort, row);
    for (const line of this.#read<ChainLine>(nameOf('lines', part))) chainOf(line.chain).lines.push(line);
    for (const change of this.#read<ChangeLine>(nameOf('changes', part))) chainOf(change.chain).changes.push(change);
    for (const { rows, ...kept } of chains.values()) yield { ...kept, rows: [...rows.values()] };
  }

  *#read<Kept extends ChainRow | ChangeLine>(name: string): Generator<Kept> {
    const file = join(this.#directory, name);
    if (!existsSync(file)) return;
    for (const record of readFileSync(file, 'utf8').split('\n')) {
      const read = parsed(record);
      if (read !== undefined) yield read as Kept;
    }
  }

  close(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

function nameOf(side: Side, part: number): string {
  return `${side}-${part}`;
}

const BYTES = 'base64:';

function bytesAsText(_name: string, value: unknown): unknown {
  return value instanceof Uint8Array ? `${BYTES}${Buffer.from(value).toString('base64')}` : value;
}

/**
 * @returns undefined for a record that a crash truncated; the resumed verification reads that page again, and adds the
 * row again
 */
function parsed(record: string): unknown {
  if (record === '') return undefined;
  try {
    return JSON.parse(record, bytesOfText);
  } catch {
    return undefined;
  }
}

function bytesOfText(_name: string, value: unknown): unknown {
  return typeof value === 'string' && value.startsWith(BYTES)
    ? Uint8Array.from(Buffer.from(value.slice(BYTES.length), 'base64'))
    : value;
}
