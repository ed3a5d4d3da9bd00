import type { Credit, Reservation } from '../lambdas/orders/parties/shop-api.ts';
import type {
  Charge,
  Dispute,
  Refund,
  SandboxEvent,
  SwitchedFailures,
} from '../lambdas/processors/sandbox/sandbox-api.ts';
import type { MailBooks } from './mail-books.ts';

/** Milliseconds for which a key is recognized after its first charge or change. Stripe: at least 24 hours. */
export const KEY_RETENTION_MS = 24 * 60 * 60 * 1_000;

/** Charges per page of the list by time. */
export const PAGE_SIZE = 100;

/** An idempotency key with the fingerprint of its request. */
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
  /** Incremented by each change. A change is conditional on the version that it read. */
  readonly version: number;
}

/** An applied capture, void or refund, with its stored answer. */
export interface BookedOperation extends KeyedRequest {
  /** The JSON body of the answer. */
  readonly body: string;
  readonly appliedAtMs: number;
}

/** A change of a charge. The change and its events are written in one transaction. */
interface BookedChange {
  readonly charge: Charge;
  readonly events: readonly SandboxEvent[];
  readonly operation?: BookedOperation | undefined;
}

interface BookedEvent {
  readonly event: SandboxEvent;
  /** The number of sends. */
  readonly attempts: number;
  /** Whether any send was answered 2xx. */
  readonly delivered: boolean;
}

/** The position of a charge in the list by time. `created` is in Unix seconds. */
export type Place = Pick<Charge, 'created' | 'id'>;

/** `from` inclusive, `to` exclusive, in Unix seconds. */
export interface Period {
  readonly from: number;
  readonly to: number;
}

export interface ChargePage {
  /** At most PAGE_SIZE. */
  readonly charges: readonly Charge[];
  /** Whether there is a next page. */
  readonly more: boolean;
}

/** Charges and the indexes to them. */
export interface ChargeBooks {
  /** The unexpired claim of a key. */
  claimOf(key: string, nowMs: number): Promise<KeyClaim | undefined>;
  /**
   * Writes a new charge with its event. With a key, only if the key has no unexpired claim: of two rivals, one gets
   * 'key_taken'.
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
  /** Oldest first; charges of the same second by id. With `after`, only charges after that place, which is in the period. */
  chargesOfPeriod(period: Period, after: Place | undefined): Promise<ChargePage>;
  /** The id of the charge to which a refund or dispute belongs. */
  chargeOfPart(id: string): Promise<string | undefined>;
}

/** Changes of charges, and their events. */
export interface ChangeBooks {
  /** The operation of a key, also after its retention. */
  operation(chargeId: string, key: string): Promise<BookedOperation | undefined>;
  /**
   * Writes the change, its events and its operation if the charge still has the version in `seen`, and the operation's key has
   * no unexpired operation; else 'conflict'.
   */
  change(seen: BookedCharge, change: BookedChange): Promise<'changed' | 'conflict'>;
  event(id: string): Promise<BookedEvent | undefined>;
  /** Oldest first. */
  eventsOfCharge(chargeId: string): Promise<readonly BookedEvent[]>;
  /** Adds `sent` sends to an event. An event that was once answered 2xx stays delivered. */
  noteDelivery(eventId: string, sent: number, taken: boolean): Promise<void>;
}

/** The calls that switched failures apply to: new charges, or captures, voids and refunds. */
export type TroubledCalls = 'charges' | 'changes';

/** Faults on demand. */
export interface TroubleBooks {
  /** Counts a send of a key. @returns the number of sends, including this one */
  countSend(key: string, nowMs: number): Promise<number>;
  switchFailures(calls: TroubledCalls, failures: SwitchedFailures): Promise<void>;
  switchedFailures(calls: TroubledCalls): Promise<SwitchedFailures>;
  /** Takes one switched failure. @returns its source; undefined if none is left */
  takeSwitchedFailure(calls: TroubledCalls): Promise<string | undefined>;
}

/** The entry that a key created at one of the shop's services. */
export interface EntryClaim {
  readonly entryId: string;
  readonly fingerprint: string;
}

/** The books of one of the shop's services. Keys never expire. */
export interface EntryBooks<E extends Reservation | Credit> {
  claimOf(key: string): Promise<EntryClaim | undefined>;
  /** With a key, only if the key has no claim: of two rivals, one gets 'key_taken'. */
  add(entry: E, request: KeyedRequest | undefined): Promise<'added' | 'key_taken'>;
  entry(id: string): Promise<E | undefined>;
  /** Overwrites an existing entry. The last write wins, so concurrent writes must be equal. */
  replace(entry: E): Promise<void>;
  /** Oldest first; entries of the same second by id. */
  entriesOfOrder(order: string): Promise<readonly E[]>;
}

export interface ShopBooks {
  readonly stock: EntryBooks<Reservation>;
  readonly credits: EntryBooks<Credit>;
}

/**
 * The sandbox's books. All reads are strongly consistent, so that a test may count the charges immediately after a call. Times
 * are Unix milliseconds unless stated otherwise.
 */
export interface Books extends ChargeBooks, ChangeBooks, TroubleBooks, ShopBooks, MailBooks {}

/** The result of `switchedFailures` if no failures are switched on. */
export const NO_FAILURES: SwitchedFailures = { count: 0, source: 'tok_ok' };

/** The refunds and disputes that a change added. */
export function newParts(before: Charge, after: Charge): readonly (Refund | Dispute)[] {
  const known = new Set([...before.refunds, ...before.disputes].map(({ id }) => id));
  return [...after.refunds, ...after.disputes].filter(({ id }) => !known.has(id));
}

/** The order of the list by time. Ids are compared by code units, as DynamoDB compares keys. */
export function byPlace(a: Place, b: Place): number {
  return a.created - b.created || (a.id < b.id ? -1 : Number(a.id > b.id));
}
