import type { Clock, Entropy } from '../../kernel/world.ts';
import { csvLine } from '../domain/csv.ts';
import { type DataExport, type ExportKey, fileOf, hasEnded, remainderKey } from '../domain/data-export.ts';
import type { AllExportRows, ExportFiles, ExportStore, StartWriter } from './exports.ts';

export interface WriteExportTools {
  readonly exports: ExportStore;
  readonly files: ExportFiles;
  readonly rows: AllExportRows;
  readonly startWriter: StartWriter;
  readonly clock: Clock;
  readonly entropy: Pick<Entropy, 'ownerToken'>;
  /** @default PART_LENGTH */
  readonly partLength?: number;
}

/**
 * Minimum length of a part, in characters. S3 requires at least 5 MiB for every part except the last, and a character
 * takes at least one byte.
 */
const PART_LENGTH = 5 * 1024 * 1024;
/**
 * Maximum number of parts per export. 1,000 parts contain 5 GB, and their list takes 100 KB of the export's row, whose
 * size is limited to 400 KB.
 */
const MAX_PARTS = 1_000;
/** Time for which a writer continues after its deadline to fill the current part, in milliseconds. */
const FILL_PART_MS = 60_000;
/**
 * Time after a request within which the projector normally processes all events from before the request, in
 * milliseconds.
 */
const SETTLED_MS = 10_000;
/**
 * Duration of a writer's lease, in milliseconds. If a page takes longer than the lease, another writer can take over.
 */
const LEASE_MS = 60_000;
/** Interval at which the progress is saved and the lease is renewed, in milliseconds. */
const SAVE_PROGRESS_EVERY_MS = 2_000;
/** The export fails after this many consecutive writers have saved neither a part nor a file of remaining rows. */
const MAX_ATTEMPTS = 20;
/**
 * Time by which the pause grows with each failed attempt, in milliseconds. With this value, an export survives an
 * outage of an hour and a half.
 */
const PAUSE_MS = 30_000;

/** `unknown`: the export does not exist. `more`: the next writer was started. */
export type WroteExport = 'unknown' | 'busy' | 'more' | 'ended';

class TakenOver extends Error {}

/**
 * Continues writing an export, part by part, until it is complete or until `stopAtMs`.
 *
 *   A ── lease, revision 4 ── part 2 ── (stops) ────────────────────────── part 3 ── save revision 5 ✗
 *   B ─────────────────────────── lease, revision 5 ── part 4 ── save revision 6 ✓ ── end with parts 1, 2, 4
 *
 * The file consists of the parts that the export's row lists. It contains no unsaved parts of a superseded writer,
 * because each writer begins with its own part number. The upload is completed only when the saved parts contain all
 * rows, so the file does not depend on the writer that completes it.
 *
 * @throws the errors of the stores; the lease then ends after a pause, and the next writer continues
 */
export async function writeExport(tools: WriteExportTools, key: ExportKey, stopAtMs: number): Promise<WroteExport> {
  const found = await tools.exports.read(key);
  if (found === undefined) return 'unknown';
  if (hasEnded(found)) return 'ended';
  if (found.owner !== undefined && found.leaseExpiresAtMs > tools.clock.nowMs()) return 'busy';
  const writer = new Writer(tools, found);
  try {
    await writer.take();
    if (writer.mine.tries > MAX_ATTEMPTS) return await writer.fail('not_readable');
    return await writer.write(stopAtMs);
  } catch (error) {
    if (error instanceof TakenOver) return 'busy';
    // Ignore an error: without this write, the lease simply expires later.
    await writer.release(PAUSE_MS * writer.mine.tries).catch(() => undefined);
    throw error;
  }
}

class Writer {
  /** The export as last saved. */
  mine: DataExport;
  readonly #tools: WriteExportTools;
  readonly #file: string;
  #savedAtMs = 0;

  constructor(tools: WriteExportTools, found: DataExport) {
    this.#tools = tools;
    this.mine = found;
    this.#file = fileOf(found);
  }

  async take(): Promise<void> {
    const { tries, nextPart, rows } = this.mine;
    const owner = this.#tools.entropy.ownerToken();
    await this.#save({ status: 'running', owner, tries: tries + 1, nextPart: nextPart + 1, readRows: rows });
  }

  async write(stopAtMs: number): Promise<WroteExport> {
    const { files, clock, startWriter } = this.#tools;
    await clock.sleep(Math.min(SETTLED_MS, Math.max(0, this.mine.untilMs + SETTLED_MS - clock.nowMs())));
    const uploadId = this.mine.uploadId ?? (await files.begin(this.#file));
    if (this.mine.uploadId === undefined) await this.#save({ uploadId });
    let begin = await this.#begin();
    if (begin === undefined) return this.fail('upload_lost');
    while (!this.mine.isRead) {
      if (this.mine.parts.length === MAX_PARTS) return this.fail('too_large');
      await this.#part(uploadId, begin, stopAtMs + FILL_PART_MS);
      begin = '';
      if (!this.mine.isRead && clock.nowMs() >= stopAtMs) {
        await this.release();
        await startWriter(this.mine);
        return 'more';
      }
    }
    const isWritten = await files.end(this.#file, uploadId, this.mine.parts);
    // The upload may be missing because an earlier writer completed it and crashed before saving.
    if (!isWritten && !(await files.exists(this.#file))) return this.fail('upload_lost');
    return this.#end({ status: 'completed' });
  }

  async fail(failure: NonNullable<DataExport['failure']>): Promise<WroteExport> {
    const { uploadId } = this.mine;
    const ended = await this.#end({ status: 'failed', failure });
    // If this fails, the lifecycle rule of the bucket removes the remaining parts.
    if (uploadId !== undefined) await this.#tools.files.abort(this.#file, uploadId).catch(() => undefined);
    return ended;
  }

  /** Ends the lease after a pause, so that the next writer can continue. */
  async release(pauseMs = 0): Promise<void> {
    await this.#save({}, pauseMs);
  }

  /** @returns undefined when the text was removed */
  async #begin(): Promise<string | undefined> {
    const { kind, parts, rest = 0 } = this.mine;
    const { rows, files } = this.#tools;
    if (rest > 0) return files.kept(remainderKey(this.mine, rest));
    return parts.length === 0 ? csvLine(rows[kind].columns) : '';
  }

  /**
   * If too few rows match to fill a part in time, stores them in a separate file instead. No other writer uses the
   * number of this file.
   */
  async #part(uploadId: string, begin: string, stopAtMs: number): Promise<void> {
    const { rows, files, clock, partLength = PART_LENGTH } = this.#tools;
    const source = rows[this.mine.kind];
    const lines = [begin];
    let { length } = begin;
    let count = this.mine.rows;
    let next = this.mine.cursor;
    do {
      const found = await source.page(this.mine, next);
      const read = found.rows.map(csvLine);
      for (const line of read) length += line.length;
      lines.push(...read);
      count += read.length;
      next = found.next;
      if (clock.nowMs() - this.#savedAtMs >= SAVE_PROGRESS_EVERY_MS) await this.#save({ readRows: count });
    } while (next !== undefined && length < partLength && clock.nowMs() < stopAtMs);
    const text = lines.join('');
    const { nextPart: number, parts, bytes } = this.mine;
    if (next !== undefined && length < partLength) {
      await files.keep(remainderKey(this.mine, number), text);
      return this.#save({ rest: number, cursor: next, rows: count, readRows: count, tries: 0 });
    }
    const part = await files.part(this.#file, uploadId, number, text);
    await this.#save({
      parts: [...parts, part],
      rest: 0,
      nextPart: number + 1,
      ...(next === undefined ? { isRead: true } : { cursor: next }),
      rows: count,
      readRows: count,
      bytes: bytes + Buffer.byteLength(text),
      tries: 0,
    });
  }

  /** @throws TakenOver when another writer has the lease */
  async #save(change: Partial<DataExport>, leaseMs = LEASE_MS): Promise<void> {
    const nowMs = this.#tools.clock.nowMs();
    const now = { ...this.mine, ...change, revision: this.mine.revision + 1, leaseExpiresAtMs: nowMs + leaseMs };
    if (!(await this.#tools.exports.save(now))) throw new TakenOver();
    this.mine = now;
    this.#savedAtMs = nowMs;
  }

  async #end(change: Pick<DataExport, 'status'> & Partial<DataExport>): Promise<WroteExport> {
    const endedAtMs = this.#tools.clock.nowMs();
    const now = { ...this.mine, ...change, revision: this.mine.revision + 1, endedAtMs };
    if (!(await this.#tools.exports.end(now))) throw new TakenOver();
    this.mine = now;
    return 'ended';
  }
}
