export interface DuePage<Row> {
  readonly rows: readonly { readonly row: Row /** Continues after the row. */; readonly cursor: string }[];
  /** Absent on the last page. A page without rows can have one. */
  readonly next?: string;
}

/** Rows ordered by due time. Each is written in the transaction that makes it necessary. */
export interface DueQueue<Row> {
  /** The rows that were due before `beforeMs`, oldest first in each shard. Strongly consistent. */
  dueBefore(beforeMs: number, page: { readonly limit: number; readonly cursor?: string }): Promise<DuePage<Row>>;
  /** Sets whether the row waits for an operator. No effect on a row that does not exist. */
  mark(row: Row, undecidable: boolean): Promise<void>;
  /** Removes the row. No error if it does not exist. */
  close(row: Row): Promise<void>;
}
