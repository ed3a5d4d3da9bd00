import type { WalkPage, WalkStep } from '../../views/use/view-store.ts';

/** A record whose time was over, as it was found. */
export interface ExpiredRecord {
  /** Its key in the table. */
  readonly key: string;
  readonly expiresAtSeconds: number;
}

/** The idempotency records that nobody needs any more: completed, and past their expiry. */
export interface ExpiredRecords {
  /** Looks at some rows, of which few or none may have expired. @param beforeSeconds only those that expired before; Unix seconds */
  walk(step: WalkStep, beforeSeconds: number): Promise<WalkPage<ExpiredRecord>>;
  /**
   * Deletes it if it is still as it was found: completed, and with that expiry.
   *
   * @returns false when it is not, or is gone
   */
  remove(record: ExpiredRecord): Promise<boolean>;
}

/** Whether the store itself ends rows whose time is over. */
export interface TimeToLive {
  /** Of every table that relies on it. */
  states(): Promise<readonly { readonly table: string; readonly isOn: boolean }[]>;
}
