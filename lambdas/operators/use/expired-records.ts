import type { ScanPage, ScanRequest } from '../../views/use/view-store.ts';

export interface ExpiredRecord {
  /** Identifies the record in its store; in DynamoDB, the partition key. */
  readonly key: string;
  readonly expiresAtSeconds: number;
}

export interface ExpiredRecords {
  /** @param beforeSeconds Unix seconds; only records that expired before this time are returned */
  scan(step: ScanRequest, beforeSeconds: number): Promise<ScanPage<ExpiredRecord>>;
  /**
   * Deletes a record if it is unchanged: completed, with the same expiry.
   *
   * @returns false when it has changed or does not exist
   */
  remove(record: ExpiredRecord): Promise<boolean>;
}

export interface TimeToLive {
  states(): Promise<readonly { readonly table: string; readonly isOn: boolean }[]>;
}
