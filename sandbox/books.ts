import type {
  Charge,
  Dispute,
  Refund,
  SandboxEvent,
  SwitchedFailures,
} from '../lambdas/kernel/contract/sandbox-api.ts';
import type { Credit, Reservation } from '../lambdas/kernel/contract/shop-api.ts';
import type { MailBooks } from './mail-books.ts';

/** Keys are honoured this long after their first charge, as the large processors do (Stripe: 24 hours). */
export const KEY_RETENTION_MS = 24 * 60 * 60 * 1_000;

/** Of the list by time. */
export const PAGE_SIZE = 100;

/** An idempotency key with the fingerprint of the body that it came with. */
export interface KeyedRequest {
  readonly key: string;
  readonly fingerprint: string;
}

/** The charge that a key made. */
export interface KeyClaim {
  readonly chargeId: string;
  readonly fingerprint: string;
}

export interface BookedCharge {
  readonly charge: Charge;
  /** Grows with each change; a change names the version that it saw. */
  readonly version: number;
}

/** A capture, void or refund that happened, with the answer that its caller got. */
export interface BookedOperation extends KeyedRequest {
  /** JSON, as it was answered. */
  readonly body: string;
}

/** A change of a charge. The events are booked with it, all or nothing. */
interface BookedChange {
  readonly charge: Charge;
  readonly events: readonly SandboxEvent[];
  readonly operation?: BookedOperation | undefined;
}

export interface BookedEvent {
  readonly event: SandboxEvent;
  /** How often it was sent. */
  readonly attempts: number;
  /** Whether any was answered 2xx. */
  readonly delivered: boolean;
}

/** Where a charge stands in the list by time. `created` is in Unix seconds. */
export type Place = Pick<Charge, 'created' | 'id'>;

/** `from` inclusive, `to` exclusive, in Unix seconds. */
export interface Period {
  readonly from: number;
  readonly to: number;
}

export interface ChargePage {
  /** At most PAGE_SIZE. */
  readonly charges: readonly Charge[];
  /** Whether more come after these. */
  readonly more: boolean;
}

/** Charges, and what is found with them. */
export interface ChargeBooks {
  /** The unexpired claim of a key. */
  claimOf(key: string, nowMs: number): Promise<KeyClaim | undefined>;
  /**
   * Books a new charge with its event. With a request's key only if the key has no unexpired claim: one of two rivals
   * gets 'key_taken'.
   */
  add(
    charge: Charge,
    event: SandboxEvent,
    request: KeyedRequest | undefined,
    nowMs: number,
  ): Promise<'added' | 'key_taken'>;
  charge(id: string): Promise<BookedCharge | undefined>;
  chargesOfKey(key: string): Promise<readonly Charge[]>;
  chargesOfPayment(paymentId: string): Promise<readonly Charge[]>;
  /** Oldest first; those made in one second by id. With `after`, those behind that place, which lies in the period. */
  chargesOfPeriod(period: Period, after: Place | undefined): Promise<ChargePage>;
  /** The id of the charge to which a refund or dispute belongs. */
  chargeOfPart(id: string): Promise<string | undefined>;
}

/** Changes of charges, and the events that they make. */
export interface ChangeBooks {
  operation(chargeId: string, key: string): Promise<BookedOperation | undefined>;
  /** Changes a charge that still has the version seen, and books what comes with it; else 'conflict' and no effect. */
  change(seen: BookedCharge, change: BookedChange): Promise<'changed' | 'conflict'>;
  event(id: string): Promise<BookedEvent | undefined>;
  /** Oldest first. */
  eventsOfCharge(chargeId: string): Promise<readonly BookedEvent[]>;
  /** Notes that an event was sent so many more times; once taken, it stays delivered. */
  noteDelivery(eventId: string, sent: number, taken: boolean): Promise<void>;
}

/** Trouble on demand. */
export interface TroubleBooks {
  /** Counts one more send of a key and answers how many there were, this one included. */
  countSend(key: string, nowMs: number): Promise<number>;
  switchFailures(failures: SwitchedFailures): Promise<void>;
  switchedFailures(): Promise<SwitchedFailures>;
  /** Uses up one switched failure and answers its source; undefined when none is left. */
  takeSwitchedFailure(): Promise<string | undefined>;
}

/** What a key made at one of the shop's services. */
export interface EntryClaim {
  readonly entryId: string;
  readonly fingerprint: string;
}

/** The books of one of the shop's services. Keys are never forgotten. */
export interface EntryBooks<E extends Reservation | Credit> {
  claimOf(key: string): Promise<EntryClaim | undefined>;
  /** With a request's key only if the key has made nothing yet: one of two rivals gets 'key_taken'. */
  add(entry: E, request: KeyedRequest | undefined): Promise<'added' | 'key_taken'>;
  entry(id: string): Promise<E | undefined>;
  /** An entry that is in the books already. The last change stays: it must be the same whoever makes it. */
  replace(entry: E): Promise<void>;
  /** Oldest first; those made in one second by id. */
  entriesOfOrder(order: string): Promise<readonly E[]>;
}

export interface ShopBooks {
  readonly stock: EntryBooks<Reservation>;
  readonly credits: EntryBooks<Credit>;
}

/**
 * The sandbox's books. Every read is consistent: what was written is there at once, so that a test may count the
 * charges right after a call. Times are Unix milliseconds where nothing else is said.
 */
export interface Books extends ChargeBooks, ChangeBooks, TroubleBooks, ShopBooks, MailBooks {}

/** What `switchedFailures` answers while nothing is switched on. */
export const NO_FAILURES: SwitchedFailures = { count: 0, source: 'tok_ok' };

/** The refunds and disputes that a change made. */
export function newParts(before: Charge, after: Charge): readonly (Refund | Dispute)[] {
  const known = new Set([...before.refunds, ...before.disputes].map(({ id }) => id));
  return [...after.refunds, ...after.disputes].filter(({ id }) => !known.has(id));
}

/** The order of the list by time: by code units, as DynamoDB orders keys. */
export function byPlace(a: Place, b: Place): number {
  return a.created - b.created || (a.id < b.id ? -1 : Number(a.id > b.id));
}
