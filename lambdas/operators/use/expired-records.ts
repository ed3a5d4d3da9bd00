import type { ScanPage, ScanRequest } from '../../views/use/view-store.ts';

/** An expired record as it was read. */
export interface ExpiredRecord {
  /** Identifies the record in its store; in DynamoDB, the partition key. */
  readonly key: string;
  readonly expiresAtSeconds: number;
}

/** Finds and deletes completed idempotency records that are past their expiry. */
export interface ExpiredRecords {
  /**
   * Reads one page of rows and returns the expired rows, possibly none.
   * @param beforeSeconds Unix seconds; only records that expired before this time are returned
   */
  scan(step: ScanRequest, beforeSeconds: number): Promise<ScanPage<ExpiredRecord>>;
  /**
   * Deletes a record if it is unchanged: completed, with the same expiry.
   *
   * @returns false when it has changed or does not exist
   */
  remove(record: ExpiredRecord): Promise<boolean>;
}

/** Reads whether DynamoDB time to live is enabled. */
export interface TimeToLive {
  /** Returns whether time to live is on, for every table that relies on it. */
  states(): Promise<readonly { readonly table: string; readonly isOn: boolean }[]>;
}
