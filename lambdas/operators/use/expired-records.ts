import type { WalkPage, WalkStep } from '../../views/use/view-store.ts';

/** An expired record as it was found. */
export interface ExpiredRecord {
  /** Partition key. */
  readonly key: string;
  readonly expiresAtSeconds: number;
}

/** Completed idempotency records that are past their expiry. */
export interface ExpiredRecords {
  /** Reads one page of rows and returns the expired ones, possibly none. @param beforeSeconds returns only records that expired before it; Unix seconds */
  walk(step: WalkStep, beforeSeconds: number): Promise<WalkPage<ExpiredRecord>>;
  /**
   * Deletes the record if it is unchanged: completed, with the same expiry.
   *
   * @returns false when it has changed or does not exist
   */
  remove(record: ExpiredRecord): Promise<boolean>;
}

/** Whether the store deletes expired rows by itself. */
export interface TimeToLive {
  /** The state of every table that relies on time to live. */
  states(): Promise<readonly { readonly table: string; readonly isOn: boolean }[]>;
}
