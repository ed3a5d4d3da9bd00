import type { Digest } from '../../kernel/digest.ts';

/** A reader rejects lines of other versions. */
export const LINE_VERSION = 1;

/** A row in the form that the Stream delivers: DynamoDB JSON, with bytes as base64 text. */
type RowImage = Readonly<Record<string, unknown>>;

/**
 * One record from the Ledger's Stream. Only the image in an `INSERT` is read as a row. The Ledger is append-only, so a
 * `MODIFY` or `REMOVE` reports that a row was overwritten or removed.
 */
export type ArchiveLine = {
  /**
   * The sequence number of the record in its Stream shard.
   * @default the line was written from the Ledger, because the record had already expired from the Stream
   */
  readonly sequence?: string;
  /** Time of the write as reported by the Stream, in Unix milliseconds with a resolution of one second. */
  readonly atMs: number;
  /** Absent for entries of the activity log. */
  readonly event?: string;
} & (
  | { readonly change: 'INSERT'; readonly item: RowImage }
  | { readonly change: 'MODIFY'; readonly item: RowImage; readonly was: RowImage }
  | { readonly change: 'REMOVE'; readonly was: RowImage }
);

/** Unix milliseconds; undefined when the line contains no row, or a row without a readable time. */
export function rowTimeOf(line: ArchiveLine): number | undefined {
  if (line.change !== 'INSERT') return undefined;
  const { N } = (line.item['occurredAtMs'] ?? {}) as { readonly N?: unknown };
  return typeof N === 'string' && /^\d+$/.test(N) ? Number(N) : undefined;
}

/** Without a line feed. Fields are sorted at every depth, so equal rows have equal text. */
export function lineText(digest: Digest, { atMs, ...line }: ArchiveLine): string {
  return digest.canonicalJson({ v: LINE_VERSION, at: new Date(atMs).toISOString(), ...line });
}
