import type { Due } from '../../kernel/looks.ts';
import type { OpenRecord } from '../../once/domain/idempotency.ts';
import type { OrphanedCallback } from './effect-store.ts';
import type { ChargeToReturn, Inquiry } from './payment-store.ts';

export interface Postponement {
  readonly dueAtMs: number;
  /** True if the entry waits for an operator. */
  readonly undecidable: boolean;
}

/**
 * The queues of the resolver. Most entries were written in the transaction that made the work necessary. Reads return
 * the due entries, longest overdue first; only `undetermined` also returns entries that are not due. After an attempt
 * to process an entry, even a failed one, the entry leaves the queue or gets a later due time, so that it cannot delay
 * the others indefinitely.
 */
export interface UnfinishedWork {
  /**
   * Lists two kinds of claims: unreleased ones whose lease has ended, and released ones whose send window has ended.
   */
  staleClaims(due: Due): Promise<readonly OpenRecord[]>;
  /** Has no effect if the claim was completed after it was read. */
  postponeClaim(record: OpenRecord, next: Postponement): Promise<void>;
  unknownOutcomes(due: Due): Promise<readonly Inquiry[]>;
  /** Lists inquiries that wait for a payer, a bank or an operator. */
  routineInquiries(due: Due): Promise<readonly Inquiry[]>;
  /**
   * Lists the entries that the metrics count, whether due or not: unknown outcomes, and inquiries that wait for an
   * operator.
   */
  undetermined(limit: number): Promise<readonly Inquiry[]>;
  /** Deletes the entry if it has not changed. If the inquiry was queued again after the read, the new entry stays. */
  closeInquiry(inquiry: Inquiry): Promise<void>;
  /**
   * Also sets `waitsFor`, if `inquiry` has it. Has no effect if the entry was closed or queued again after it was read.
   */
  postponeInquiry(inquiry: Inquiry, next: Postponement): Promise<void>;
  chargesToReturn(due: Due): Promise<readonly ChargeToReturn[]>;
  /** Has no effect if the entry was closed, or its kind of return changed, after it was read. */
  postponeReturn(charge: ChargeToReturn, next: Postponement): Promise<void>;
  /**
   * Deletes the entry if it has not changed. If a hold was captured and queued for a refund after the read, the new
   * entry stays.
   */
  closeReturn(charge: ChargeToReturn): Promise<void>;
}

export interface OrphanStore {
  /**
   * Lists the orphans to retry, longest overdue first.
   * @param kind `foreign` for orphans with {@link OrphanedCallback.isForeign}; `own` for all others
   */
  waiting(kind: 'own' | 'foreign', due: Due): Promise<readonly OrphanedCallback[]>;
  /** Has no effect on an orphan that was adopted since the read. */
  postponeOrphan(orphan: OrphanedCallback, dueAtMs: number): Promise<void>;
  /**
   * Moves the orphan out of the queue and keeps it for operators. Has no effect on an orphan that was adopted since the
   * read.
   */
  giveUp(orphan: OrphanedCallback): Promise<void>;
}
