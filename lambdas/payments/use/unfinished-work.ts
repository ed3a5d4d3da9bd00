import type { Due } from '../../kernel/looks.ts';
import type { OpenRecord } from '../../once/domain/idempotency.ts';
import type { OrphanedCallback } from './effect-store.ts';
import type { ChargeToReturn, Inquiry } from './payment-store.ts';

/** The time of the next look at an entry that stays in its queue. */
export interface Postponement {
  /** Unix milliseconds. */
  readonly dueAtMs: number;
  /** Whether it waits for an operator. */
  readonly undecidable: boolean;
}

/**
 * The queues of the resolver. Each entry was written in the transaction that made it necessary. Reads return due
 * entries, longest overdue first. Each processed entry, including failed ones, leaves the queue or gets its next time,
 * so that no entry starves another.
 */
export interface UnfinishedWork {
  /** Claims whose lease has ended or, after a release, whose send window has ended. */
  staleClaims(due: Due): Promise<readonly OpenRecord[]>;
  /** No effect on a claim that was completed since. */
  postponeClaim(record: OpenRecord, next: Postponement): Promise<void>;
  /** Inquiries about unknown outcomes. */
  unknownOutcomes(due: Due): Promise<readonly Inquiry[]>;
  /** Inquiries that wait for a payer, a bank or an operator. */
  routineInquiries(due: Due): Promise<readonly Inquiry[]>;
  /** The entries that the metrics count, due or not: unknown outcomes, and inquiries that wait for an operator. */
  undetermined(limit: number): Promise<readonly Inquiry[]>;
  /** Deletes the entry only if it is unchanged: a look that was queued again since stays. */
  closeInquiry(inquiry: Inquiry): Promise<void>;
  /** No effect on an entry that was closed or queued again since. */
  postponeInquiry(inquiry: Inquiry, next: Postponement): Promise<void>;
  chargesToReturn(due: Due): Promise<readonly ChargeToReturn[]>;
  /** No effect on an entry that was closed, or has become another kind of return, since. */
  postponeReturn(charge: ChargeToReturn, next: Postponement): Promise<void>;
  /** Deletes the entry only if it is unchanged: a hold that was captured and queued again since stays. */
  closeReturn(charge: ChargeToReturn): Promise<void>;
}

export interface OrphanStore {
  /**
   * The orphans to retry, longest overdue first. @param kind whether their charges name payments, as far as it is known
   */
  waiting(kind: 'own' | 'foreign', due: Due): Promise<readonly OrphanedCallback[]>;
  /**
   * Sets the time of the orphan's next retry. No effect on an orphan that was adopted since. @param orphan its current
   * state
   */
  postponeOrphan(orphan: OrphanedCallback, dueAtMs: number): Promise<void>;
  /** Moves the orphan out of the queue and keeps it for operators. No effect on an orphan that was adopted since. */
  giveUp(orphan: OrphanedCallback): Promise<void>;
}
