import type { OpenRecord } from '../../once/domain/idempotency.ts';
import type { OrphanedCallback } from './effect-store.ts';
import type { ChargeToReturn, Inquiry } from './payment-store.ts';

/**
 * The queues of the resolver. Each entry was written in the transaction that made it necessary. When a queue holds more
 * than `limit` entries, later reads begin elsewhere, so that entries that stay do not hide the others.
 */
export interface UnfinishedWork {
  /** Claims whose lease has ended. */
  staleClaims(nowMs: number, limit: number): Promise<readonly OpenRecord[]>;
  /** Records that the claim waits for an operator. No effect on a claim that was completed since. */
  markClaim(claim: OpenRecord): Promise<void>;
  inquiries(limit: number): Promise<readonly Inquiry[]>;
  /** Deletes the entry only if it is unchanged: a look that was queued again since stays. */
  closeInquiry(inquiry: Inquiry): Promise<void>;
  /** Sets whether the entry waits for an operator. No effect on an entry that was closed or queued again since. */
  markInquiry(inquiry: Inquiry, undecidable: boolean): Promise<void>;
  chargesToReturn(limit: number): Promise<readonly ChargeToReturn[]>;
  /** As `markInquiry`. */
  markReturn(charge: ChargeToReturn, undecidable: boolean): Promise<void>;
  /** Deletes the entry only if it is unchanged: a hold that was captured and queued again since stays. */
  closeReturn(charge: ChargeToReturn): Promise<void>;
}

export interface OrphanShelf {
  /** The orphans to retry, oldest first in each shard; at most `limit` in all. */
  waiting(limit: number): Promise<readonly OrphanedCallback[]>;
  /** Moves the orphan out of the queue and keeps it for operators. */
  giveUp(orphan: OrphanedCallback): Promise<void>;
}
