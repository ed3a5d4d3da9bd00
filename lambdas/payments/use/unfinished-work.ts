import type { OpenRecord } from '../../once/domain/idempotency.ts';
import type { OrphanedCallback } from './effect-store.ts';
import type { ChargeToReturn, Inquiry } from './payment-store.ts';

/**
 * What waits to be found out or sent back; each is in a queue that was written with what made it necessary. Where more waits
 * than `limit`, later readings begin elsewhere: what stays for ever does not hide the rest.
 */
export interface UnfinishedWork {
  /** Claims whose lease has ended. */
  staleClaims(nowMs: number, limit: number): Promise<readonly OpenRecord[]>;
  inquiries(limit: number): Promise<readonly Inquiry[]>;
  closeInquiry(inquiry: Inquiry): Promise<void>;
  chargesToReturn(limit: number): Promise<readonly ChargeToReturn[]>;
  /** Only as it was read: a hold that was queued again as money since stays. */
  closeReturn(charge: ChargeToReturn): Promise<void>;
}

export interface OrphanShelf {
  /** Those that wait to be tried again, oldest first in each part of the shelf; at most `limit` in all. */
  waiting(limit: number): Promise<readonly OrphanedCallback[]>;
  /** Out of the way of those that wait, and kept for people to look at. */
  giveUp(orphan: OrphanedCallback): Promise<void>;
}
