import type { Credit, Reservation } from '../lambdas/orders/parties/shop-api.ts';
import type {
  Charge,
  Dispute,
  Refund,
  SandboxEvent,
  SwitchedFailures,
} from '../lambdas/processors/sandbox/sandbox-api.ts';
import type { MailBooks } from './mail-books.ts';

/**
 * Time for which a key is recognized after its first charge or change, in milliseconds. Stripe recognizes keys for at
 * least 24 hours.
 */
export const KEY_RETENTION_MS = 24 * 60 * 60 * 1_000;

/** Number of charges per page of the list by time. */
export const PAGE_SIZE = 100;

/** An idempotency key with the fingerprint of its request. */
export interface KeyedRequest {
  readonly key: string;
  readonly fingerprint: string;
}

/** The charge that was created with a key. */
export interface KeyClaim {
  readonly chargeId: string;
  readonly fingerprint: string;
}

export interface BookedCharge {
  readonly charge: Charge;
  /** Version of the charge, incremented by each change. A change is conditional on the version that was read. */
  readonly version: number;
}

/** An applied capture, void or refund, with its stored response. */
export interface BookedOperation extends KeyedRequest {
  /** The JSON body of the response. */
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
  /** Number of times that the event was sent. */
  readonly attempts: number;
  /** Whether any send received a 2xx response. */
  readonly delivered: boolean;
}

/** The position of a charge in the list by time. `created` is in Unix seconds. */
export type Place = Pick<Charge, 'created' | 'id'>;

/** A period in Unix seconds. `from` is inclusive, and `to` is exclusive. */
export interface Period {
  readonly from: number;
  readonly to: number;
}

export interface ChargePage {
  /** At most {@link PAGE_SIZE} charges. */
  readonly charges: readonly Charge[];
  readonly more: boolean;
}

/** Stores charges and the indexes to find them. */
export interface ChargeBooks {
  /** Returns the claim of a key; undefined if there is none or it has expired. */
  claimOf(key: string, nowMs: number): Promise<KeyClaim | undefined>;
  /**
   * Writes a new charge with its event. With a key, writes only if the key has no unexpired claim. The loser of two
   * concurrent writes gets 'key_taken'.
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
  /**
   * Lists charges by creation time, then by id. With `after`, lists only charges after that position, which must be in
   * the period.
   */
  chargesOfPeriod(period: Period, after: Place | undefined): Promise<ChargePage>;
  /** Returns the id of the charge to which a refund or dispute belongs. */
  chargeOfPart(id: string): Promise<string | undefined>;
}

/** Stores changes of charges, and their events. */
export interface ChangeBooks {
  /** Returns the operation that was applied with a key. After the key's retention, may still return it. */
  operation(chargeId: string, key: string): Promise<BookedOperation | undefined>;
  /**
   * Writes the change, its events and its operation. Returns 'conflict' and writes nothing if the charge no longer has
   * the version in `seen`, or if an unexpired operation with the same key exists.
   */
  change(seen: BookedCharge, change: BookedChange): Promise<'changed' | 'conflict'>;
  event(id: string): Promise<BookedEvent | undefined>;
  /** Lists the events of a charge, oldest first. */
  eventsOfCharge(chargeId: string): Promise<readonly BookedEvent[]>;
  /** Adds `sent` to the number of sends of an event. An event stays delivered after its first 2xx response. */
  noteDelivery(eventId: string, sent: number, taken: boolean): Promise<void>;
}

/**
 * The requests that switched-on failures affect: `charges` are new charges; `changes` are captures, voids and refunds.
 */
export type TroubledCalls = 'charges' | 'changes';

/** Counts the sends of each key, and stores the failures that a test or user has switched on. */
export interface FaultInjection {
  /** Counts a request with this key. @returns the number of requests with the key, including this one */
  countSend(key: string, nowMs: number): Promise<number>;
  switchFailures(calls: TroubledCalls, failures: SwitchedFailures): Promise<void>;
  switchedFailures(calls: TroubledCalls): Promise<SwitchedFailures>;
  /**
   * Uses up one of the failures that are switched on.
   * @returns the magic source to simulate; undefined if no failure remains
   */
  takeSwitchedFailure(calls: TroubledCalls): Promise<string | undefined>;
}

/** The entry that was created with a key at one of the shop's services. */
export interface EntryClaim {
  readonly entryId: string;
  readonly fingerprint: string;
}

/** Stores the entries of one of the shop's services. Keys never expire. */
export interface EntryBooks<E extends Reservation | Credit> {
  claimOf(key: string): Promise<EntryClaim | undefined>;
  /**
   * Writes an entry. With a key, writes only if the key has no claim. The loser of two concurrent writes gets
   * 'key_taken'.
   */
  add(entry: E, request: KeyedRequest | undefined): Promise<'added' | 'key_taken'>;
  entry(id: string): Promise<E | undefined>;
  /** Overwrites an existing entry. The last write wins, so concurrent writers must write equal entries. */
  replace(entry: E): Promise<void>;
  /** Lists the entries of an order by creation time, then by id. */
  entriesOfOrder(order: string): Promise<readonly E[]>;
}

export interface ShopBooks {
  readonly stock: EntryBooks<Reservation>;
  readonly credits: EntryBooks<Credit>;
}

/**
 * Stores all data of the sandbox. All reads are strongly consistent, so that a test can count the charges immediately
 * after a request. Times are Unix milliseconds unless stated otherwise.
 */
export interface Books extends ChargeBooks, ChangeBooks, FaultInjection, ShopBooks, MailBooks {}

/** The value of `SwitchedFailures` when no failures are switched on. */
export const NO_FAILURES: SwitchedFailures = { count: 0, source: 'tok_ok' };

/** Returns the refunds and disputes that a change added. */
export function newParts(before: Charge, after: Charge): readonly (Refund | Dispute)[] {
  const known = new Set([...before.refunds, ...before.disputes].map(({ id }) => id));
  return [...after.refunds, ...after.disputes].filter(({ id }) => !known.has(id));
}

/** Compares by time, then id. Ids are compared by code units, as DynamoDB compares keys. */
export function byPlace(a: Place, b: Place): number {
  return a.created - b.created || (a.id < b.id ? -1 : Number(a.id > b.id));
}
