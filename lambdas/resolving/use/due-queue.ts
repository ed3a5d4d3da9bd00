export interface DuePage<Row> {
  readonly rows: readonly {
    readonly row: Row;
    /** The cursor that continues after the row. */
    readonly cursor: string;
  }[];
  /** The cursor of the next page; absent on the last page. Even a page without rows can have a next page. */
  readonly next?: string;
}

/** A queue of rows sorted by due time. Each row is written in the transaction that causes the work. */
export interface DueQueue<Row> {
  /** Lists the rows that were due before `beforeMs`, oldest first in each shard, with strong consistency. */
  dueBefore(beforeMs: number, page: { readonly limit: number; readonly cursor?: string }): Promise<DuePage<Row>>;
  /** Sets whether the row waits for an operator. Has no effect on a row that does not exist. */
  mark(row: Row, undecidable: boolean): Promise<void>;
  /** Removes the row. Has no effect if the row does not exist. */
  close(row: Row): Promise<void>;
}
