import type { Digest } from '../../kernel/digest.ts';

/** The version of the format. A reader refuses lines of other versions. */
export const LINE_VERSION = 1;

/** A row as delivered by the Stream: DynamoDB's JSON, with bytes as base64 text. */
type RowImage = Readonly<Record<string, unknown>>;

/**
 * One record of the Ledger's Stream. Only an `INSERT` is the line of a row. The Ledger is append-only, so a `MODIFY` or
 * a `REMOVE` reports an overwritten or removed row, and is never read as the row.
 */
export type ArchiveLine = {
  /**
   * The place of the record in its shard of the Stream. @default none: written from the Ledger, after the record had
   * left the Stream
   */
  readonly sequence?: string;
  /** Time of the write according to the Stream, with a resolution of one second. Unix milliseconds. */
  readonly atMs: number;
  /** The event id of the transition. Absent for entries of the activity log. */
  readonly event?: string;
} & (
  | { readonly change: 'INSERT'; readonly item: RowImage }
  | { readonly change: 'MODIFY'; readonly item: RowImage; readonly was: RowImage }
  | { readonly change: 'REMOVE'; readonly was: RowImage }
);

/** The text of a line, without a line feed. Fields are sorted at every depth, so equal rows have equal text. */
export function lineText(digest: Digest, { atMs, ...line }: ArchiveLine): string {
  return digest.canonicalJson({ v: LINE_VERSION, at: new Date(atMs).toISOString(), ...line });
}
