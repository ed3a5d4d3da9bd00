import type { ViewKey } from '../domain/lists.ts';
import type { ViewRow } from '../domain/views.ts';

export interface ViewRange {
  readonly partition: string;
  /**
   * Set if the partition belongs to the index `lists`. Must not be combined with `consistent`.
   * @default the partition belongs to the table
   */
  readonly indexed?: true;
  /** Inclusive. */
  readonly from: string;
  /** Exclusive. */
  readonly until: string;
  readonly descending?: boolean;
  readonly limit: number;
  /** A strongly consistent read costs twice the read units. @default false */
  readonly consistent?: boolean;
}

export interface RowChange {
  readonly key: ViewKey;
  /** The current row that the change expects: null if the row must not exist, absent for an unconditional change. */
  readonly from?: ViewRow | null;
  /** The new row; absent to delete the row. */
  readonly to?: ViewRow;
}

/** All rows except those of mismatches can be rebuilt from the Ledger. */
export interface ViewStore {
  /** Writes whole rows unconditionally. If the write fails, some rows may have been written. */
  put(rows: readonly ViewRow[]): Promise<void>;
  /** Reads a row with strong consistency. */
  read(key: ViewKey): Promise<ViewRow | undefined>;
  /**
   * Reads at most 100 rows in one call, with strong consistency.
   *
   * @returns the rows in the order of the keys; undefined for a row that does not exist
   */
  readAll(keys: readonly ViewKey[]): Promise<readonly (ViewRow | undefined)[]>;
  /**
   * Applies all changes in one transaction, or none.
   *
   * @returns false when a row does not match its `from`. If a response was lost, the result can be false although this
   * call applied the changes, so the caller must then read the rows again
   */
  exchange(changes: readonly RowChange[]): Promise<boolean>;
  /** Returns `limit` rows, or fewer at the end of the range. */
  range(range: ViewRange): Promise<readonly ViewRow[]>;
  /** @default 1 */
  queriesPerRange?(): number;
}

/** The position from which a scan continues. Callers must not interpret it. */
export type ScanPosition = string;

export interface ScanRequest {
  /** Number of the segment, from 0. */
  readonly segment: number;
  readonly segments: number;
  readonly after?: ScanPosition;
}

export interface ScanPage<Found> {
  readonly found: readonly Found[];
  /** Absent on the last page. */
  readonly next?: ScanPosition;
}

/** Scans all rows in segments, which can be read concurrently. For operators' commands only. */
export interface ViewScan {
  scan(step: ScanRequest): Promise<ScanPage<ViewRow>>;
}
