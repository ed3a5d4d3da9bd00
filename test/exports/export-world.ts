import { csvLine } from '../../lambdas/exports/domain/csv.ts';
import {
  type ExportKey,
  fileOf,
  initialExport,
  type RequestedExport,
} from '../../lambdas/exports/domain/data-export.ts';
import { DynamoDbExports } from '../../lambdas/exports/store/dynamodb-exports.ts';
import type { AllExportRows, ExportPage, MadeExport } from '../../lambdas/exports/use/exports.ts';
import { type WriteExportTools, type WroteExport, writeExport } from '../../lambdas/exports/use/write-export.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import type { MemoryDynamoDb } from '../world/memory-dynamodb.ts';
import { emptyTables } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';
import { MemoryExportFiles } from './memory-export-files.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const PAGE = 10;
const PART = 200;
/** Longer than any lease. */
export const LATER_MS = 120_000;

export const OWNER = { tenantId: tenantId('ten_1'), mode: 'test' as const };

export function requested(id: string, changes: Partial<RequestedExport> = {}): RequestedExport {
  const fromMs = Date.UTC(2026, 1, 1);
  return {
    ...OWNER,
    id,
    kind: 'entries',
    from: '2026-02-01',
    to: '2026-02-01',
    filters: {},
    fromMs,
    untilMs: fromMs + DAY_MS,
    requestedBy: 'key_1',
    fingerprint: { version: 1, sha256: new Uint8Array([1]) },
    createdAtMs: Date.UTC(2026, 2, 1),
    ...changes,
  };
}

function numbered(count: number): AllExportRows {
  const page = async (_asked: unknown, after: string | undefined): Promise<ExportPage> => {
    const begin = Number(after ?? 0);
    const end = Math.min(begin + PAGE, count);
    const rows = Array.from({ length: end - begin }, (_, index) => [begin + index, 'a text']);
    return { rows, ...(end < count ? { next: String(end) } : {}) };
  };
  const rows = { columns: ['number', 'text'], page };
  return { entries: rows, payments: rows, refunds: rows, disputes: rows, events: rows };
}

export function fileOfNumbers(count: number): string {
  const lines = Array.from({ length: count }, (_, index) => csvLine([index, 'a text']));
  return [csvLine(['number', 'text']), ...lines].join('');
}

/** A request to start a writer is only recorded in `woken`. */
export class ExportWorld {
  readonly clock = new SimulatedClock();
  readonly files = new MemoryExportFiles(PART);
  readonly database: MemoryDynamoDb;
  readonly exports: DynamoDbExports;
  readonly woken: ExportKey[] = [];
  readonly tools: WriteExportTools;

  constructor(count: number) {
    const { clock } = this;
    this.database = emptyTables(clock);
    this.exports = new DynamoDbExports(this.database.client, TABLES, {
      clock,
      entropy: countingEntropy(),
    });
    this.tools = {
      exports: this.exports,
      files: this.files,
      rows: numbered(count),
      startWriter: async (key) => {
        this.woken.push(key);
      },
      clock,
      entropy: countingEntropy('writer'),
      partLength: PART,
    };
  }

  async make(id: string): Promise<ExportKey> {
    await this.request(id);
    return { ...OWNER, id };
  }

  request(id: string, changes: Partial<RequestedExport> = {}): Promise<MadeExport> {
    const asked = initialExport(requested(id, changes));
    const { tenantId: tenant, mode, createdAtMs } = asked;
    return this.exports.make(asked, {
      chain: { tenantId: tenant, mode },
      action: 'export.requested',
      actor: { by: 'command', operator: 'ada' },
      about: [id],
      occurredAtMs: createdAtMs,
    });
  }

  write(key: ExportKey, tools = this.tools, stopAtMs = Infinity): Promise<WroteExport> {
    return writeExport(tools, key, stopAtMs);
  }

  file(key: ExportKey): string | undefined {
    return this.files.files.get(fileOf(key));
  }

  timesWritten(key: ExportKey): number {
    return this.files.written.get(fileOf(key)) ?? 0;
  }
}

export interface Calls {
  /** An error crashes the writer. */
  readonly at: (call: number, when: 'before' | 'after', name: string) => Promise<void>;
}

/** Counts the writer's calls from 1. */
export function watched(tools: WriteExportTools, { at }: Calls): WriteExportTools {
  let calls = 0;
  const through =
    <Args extends readonly unknown[], Result>(name: string, run: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      calls += 1;
      const call = calls;
      await at(call, 'before', name);
      const result = await run(...args);
      await at(call, 'after', name);
      return result;
    };
  const { exports, files, rows, startWriter } = tools;
  const { entries } = rows;
  return {
    ...tools,
    exports: {
      make: (...asked) => exports.make(...asked),
      list: (...asked) => exports.list(...asked),
      open: () => exports.open(),
      read: through('read', (key) => exports.read(key)),
      save: through('save', (now) => exports.save(now)),
      end: through('end', (now) => exports.end(now)),
    },
    files: {
      begin: through('begin', (file) => files.begin(file)),
      part: through('part', (...part) => files.part(...part)),
      end: through('end file', (...upload) => files.end(...upload)),
      exists: through('exists', (file) => files.exists(file)),
      keep: through('keep', (file, text) => files.keep(file, text)),
      kept: through('kept', (file) => files.kept(file)),
      abort: through('abort', (...upload) => files.abort(...upload)),
    },
    rows: { ...rows, entries: { ...entries, page: through('page', (asked, after) => entries.page(asked, after)) } },
    startWriter: through('startWriter', startWriter),
  };
}
