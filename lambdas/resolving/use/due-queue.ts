export interface DuePage<Row> {
  readonly rows: readonly { readonly row: Row /** Continues behind it. */; readonly cursor: string }[];
  /** Left out at the end; a page may have no rows and yet go on. */
  readonly next?: string;
}

/** Rows by the time from which on they concern somebody, written with what made them necessary. */
export interface DueQueue<Row> {
  /** Those of a time before, oldest first in each part of the queue. Consistent. */
  dueBefore(beforeMs: number, page: { readonly limit: number; readonly cursor?: string }): Promise<DuePage<Row>>;
  /** Takes it out; one that is gone is gone. */
  close(row: Row): Promise<void>;
}
