import type { Digest } from '../../kernel/digest.ts';

/** The version of the format. A reader refuses a line of another one. */
export const LINE_VERSION = 1;

/** A row as the Stream has it: DynamoDB's JSON, with bytes as base64 text. */
type RowImage = Readonly<Record<string, unknown>>;

/**
 * One record of the Ledger's Stream. Only an `INSERT` is the line of a row. The Ledger is append-only, so a `MODIFY` or a `REMOVE` tells of an
 * overwritten or removed row, and never stands for it.
 */
export type ArchiveLine = {
  /** The place of the record in its shard of the Stream. @default written from the Ledger, long after the Stream had it */
  readonly sequence?: string;
  /** When the row was written, as the Stream knows it: to the second. Unix milliseconds. */
  readonly atMs: number;
  /** The id of the event of the transition. Entries of the activity log have none. */
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
